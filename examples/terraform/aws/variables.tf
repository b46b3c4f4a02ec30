variable "name" {
  description = "Name of the machine, and of its host in the inventory"
  type        = string
  default     = "aws-gpu-1"
}

variable "ssh_from" {
  description = "Networks that may connect by SSH, e.g. [\"198.51.100.7/32\"]; 0.0.0.0/0 is rejected"
  type        = list(string)

  validation {
    condition     = length(var.ssh_from) > 0 && !contains(var.ssh_from, "0.0.0.0/0")
    error_message = "Set the networks that may connect by SSH, without 0.0.0.0/0."
  }
}

variable "ssh_public_key" {
  description = "Public key file for the login"
  type        = string
  default     = "~/.ssh/id_ed25519.pub"
}

variable "disk_gb" {
  description = "Size of the system disk; driver, image and jobs need about 60 GB"
  type        = number
  default     = 150
}

variable "inventory" {
  description = "Absolute path of the inventory; the machine's agents are drained before its destroy. Empty: no drain"
  type        = string
  default     = ""
}

variable "region" {
  description = "Region that has the instance type"
  type        = string
  default     = "eu-central-1"
}

variable "instance_type" {
  description = "g6.xlarge has one L4"
  type        = string
  default     = "g6.xlarge"
}
