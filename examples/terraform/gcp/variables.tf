variable "name" {
  description = "Of the machine, and of the host in the inventory"
  type        = string
  default     = "gcp-gpu-1"
}

variable "ssh_from" {
  description = "Networks that may reach SSH, e.g. [\"198.51.100.7/32\"]: yours, and not everybody's"
  type        = list(string)

  validation {
    condition     = length(var.ssh_from) > 0 && !contains(var.ssh_from, "0.0.0.0/0")
    error_message = "Name the networks that SSH is reached from."
  }
}

variable "ssh_public_key" {
  description = "File of the public key that may log in"
  type        = string
  default     = "~/.ssh/id_ed25519.pub"
}

variable "disk_gb" {
  description = "Of the system's disk: driver, image and jobs take some 60"
  type        = number
  default     = 150
}

variable "inventory" {
  description = "Absolute path of the inventory; the machine's agents are drained before it is destroyed. Empty: not"
  type        = string
  default     = ""
}

variable "project" {
  description = "Id of the project"
  type        = string
}

variable "zone" {
  description = "One that has the machine type"
  type        = string
  default     = "europe-west4-a"
}

variable "machine_type" {
  description = "Those of the family g2 bring an L4 with them"
  type        = string
  default     = "g2-standard-8"
}
