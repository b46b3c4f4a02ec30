# One machine with a GPU on Google Cloud, reachable by SSH only.
terraform {
  required_version = ">= 1.4"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 6.0"
    }
  }
}

provider "google" {
  project = var.project
  zone    = var.zone
  region  = join("-", slice(split("-", var.zone), 0, 2))
}

resource "google_compute_network" "fleet" {
  name                    = "${var.name}-net"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "fleet" {
  name          = "${var.name}-subnet"
  network       = google_compute_network.fleet.id
  ip_cidr_range = "10.90.0.0/24"
}

# A separate network allows no incoming connection without a rule.
resource "google_compute_firewall" "ssh" {
  name          = "${var.name}-ssh"
  network       = google_compute_network.fleet.id
  direction     = "INGRESS"
  source_ranges = var.ssh_from

  allow {
    protocol = "tcp"
    ports    = ["22"]
  }
}

# Without a service account, jobs get no identity from the metadata address.
resource "google_compute_instance" "gpu" {
  name         = var.name
  machine_type = var.machine_type

  boot_disk {
    initialize_params {
      image = "debian-cloud/debian-12"
      size  = var.disk_gb
      type  = "pd-balanced"
    }
  }

  network_interface {
    subnetwork = google_compute_subnetwork.fleet.id
    access_config {}
  }

  # A machine with a GPU cannot be moved while it runs.
  scheduling {
    on_host_maintenance = "TERMINATE"
    automatic_restart   = true
  }

  # The driver is built on the machine, and not signed with a key that its firmware accepts.
  shielded_instance_config {
    enable_secure_boot = false
  }

  metadata = {
    ssh-keys               = "ops:${trimspace(file(pathexpand(var.ssh_public_key)))}"
    block-project-ssh-keys = "true"
    enable-oslogin         = "false"
  }
}
