# Destroyed before the machine is, because it depends on it. A job that runs ends first; where drain does not succeed,
# nothing is destroyed. What is left in the pool then, `azp-fleet pool prune --gone NAME` takes away (../README.md).
resource "terraform_data" "deregister" {
  count      = var.inventory == "" ? 0 : 1
  depends_on = [azurerm_linux_virtual_machine.gpu]

  input = {
    host      = var.name
    inventory = var.inventory
  }

  provisioner "local-exec" {
    when    = destroy
    command = "azp-fleet drain \"$HOST\" -i \"$INVENTORY\" --wait --yes --reason 'terraform destroy'"
    environment = {
      HOST      = self.input.host
      INVENTORY = self.input.inventory
    }
  }
}
