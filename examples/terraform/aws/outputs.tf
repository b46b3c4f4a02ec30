output "azp_fleet_hosts" {
  description = "For hostsFrom: { terraform: hosts.json }, and for azp-fleet inventory import --terraform"
  value = {
    (var.name) = {
      address = aws_instance.gpu.public_ip
      user    = "admin"
      gpus    = 1
      labels  = { cloud = "aws" }
    }
  }
}
