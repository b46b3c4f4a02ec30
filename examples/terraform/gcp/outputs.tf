output "azp_fleet_hosts" {
  description = "For hostsFrom: { terraform: hosts.json }, and for azp-fleet inventory import --terraform"
  value = {
    (var.name) = {
      address = google_compute_instance.gpu.network_interface[0].access_config[0].nat_ip
      user    = "ops"
      gpus    = 1
      labels  = { cloud = "gcp" }
    }
  }
}
