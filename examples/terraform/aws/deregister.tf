# Terraform destroys this before the machine. A running job finishes first; if drain fails, nothing is
# destroyed. Afterwards `azp-fleet pool prune --gone NAME` removes the agents from the pool (../README.md).
resource "terraform_data" "deregister" {
  count      = var.inventory == "" ? 0 : 1
  depends_on = [aws_instance.gpu]

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
