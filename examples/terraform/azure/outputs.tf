output "azp_fleet_hosts" {
  description = "For hostsFrom: { terraform: hosts.json }, and for azp-fleet inventory import --terraform"
  value = {
    (var.name) = {
      address = azurerm_public_ip.gpu.ip_address
      user    = "ops"
      gpus    = 1
      labels  = { cloud = "azure" }
    }
  }
}
