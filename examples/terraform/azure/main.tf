# One machine with a GPU on Azure, reachable by SSH only.
terraform {
  required_version = ">= 1.4"
  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "~> 4.0"
    }
  }
}

provider "azurerm" {
  subscription_id = var.subscription_id
  features {}
}

resource "azurerm_resource_group" "fleet" {
  name     = "${var.name}-rg"
  location = var.location
}

resource "azurerm_virtual_network" "fleet" {
  name                = "${var.name}-net"
  resource_group_name = azurerm_resource_group.fleet.name
  location            = azurerm_resource_group.fleet.location
  address_space       = ["10.90.0.0/16"]
}

resource "azurerm_subnet" "fleet" {
  name                 = "${var.name}-subnet"
  resource_group_name  = azurerm_resource_group.fleet.name
  virtual_network_name = azurerm_virtual_network.fleet.name
  address_prefixes     = ["10.90.0.0/24"]
}

# The default rules of a group reject other connections from the Internet.
resource "azurerm_network_security_group" "ssh" {
  name                = "${var.name}-ssh"
  resource_group_name = azurerm_resource_group.fleet.name
  location            = azurerm_resource_group.fleet.location

  security_rule {
    name                       = "ssh"
    priority                   = 100
    direction                  = "Inbound"
    access                     = "Allow"
    protocol                   = "Tcp"
    source_port_range          = "*"
    destination_port_range     = "22"
    source_address_prefixes    = var.ssh_from
    destination_address_prefix = "*"
  }
}

resource "azurerm_subnet_network_security_group_association" "fleet" {
  subnet_id                 = azurerm_subnet.fleet.id
  network_security_group_id = azurerm_network_security_group.ssh.id
}

resource "azurerm_public_ip" "gpu" {
  name                = "${var.name}-ip"
  resource_group_name = azurerm_resource_group.fleet.name
  location            = azurerm_resource_group.fleet.location
  allocation_method   = "Static"
  sku                 = "Standard"
}

resource "azurerm_network_interface" "gpu" {
  name                = "${var.name}-nic"
  resource_group_name = azurerm_resource_group.fleet.name
  location            = azurerm_resource_group.fleet.location

  ip_configuration {
    name                          = "main"
    subnet_id                     = azurerm_subnet.fleet.id
    private_ip_address_allocation = "Dynamic"
    public_ip_address_id          = azurerm_public_ip.gpu.id
  }
}

# Without an identity, jobs get none from the metadata address. Secure boot is off: the machine builds the driver.
resource "azurerm_linux_virtual_machine" "gpu" {
  name                  = var.name
  resource_group_name   = azurerm_resource_group.fleet.name
  location              = azurerm_resource_group.fleet.location
  size                  = var.size
  admin_username        = "ops"
  network_interface_ids = [azurerm_network_interface.gpu.id]
  secure_boot_enabled   = false

  admin_ssh_key {
    username   = "ops"
    public_key = file(pathexpand(var.ssh_public_key))
  }

  os_disk {
    caching              = "ReadWrite"
    storage_account_type = "StandardSSD_LRS"
    disk_size_gb         = var.disk_gb
  }

  source_image_reference {
    publisher = "Debian"
    offer     = "debian-12"
    sku       = "12-gen2"
    version   = "latest"
  }
}

# A machine that powers itself off is "stopped" and costs as before; only a deallocated one does not.
resource "azurerm_dev_test_global_vm_shutdown_schedule" "gpu" {
  virtual_machine_id    = azurerm_linux_virtual_machine.gpu.id
  location              = azurerm_resource_group.fleet.location
  enabled               = true
  daily_recurrence_time = var.shutdown_at
  timezone              = "UTC"

  notification_settings {
    enabled = false
  }
}
