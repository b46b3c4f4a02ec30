variable "name" {
  description = "Name of the machine, and of its host in the inventory"
  type        = string
  default     = "azure-gpu-1"
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

variable "subscription_id" {
  description = "Id of the subscription"
  type        = string
}

variable "location" {
  description = "Region that has the size, with quota for it"
  type        = string
  default     = "westeurope"
}

variable "size" {
  description = "Standard_NC4as_T4_v3 has one T4"
  type        = string
  default     = "Standard_NC4as_T4_v3"
}

variable "shutdown_at" {
  description = "When the machine is deallocated each day, HHMM in UTC: a machine that powers itself off still costs"
  type        = string
  default     = "2000"
}
