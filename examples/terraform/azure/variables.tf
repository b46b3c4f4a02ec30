variable "name" {
  description = "Of the machine, and of the host in the inventory"
  type        = string
  default     = "azure-gpu-1"
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

variable "subscription_id" {
  description = "Id of the subscription"
  type        = string
}

variable "location" {
  description = "One that has the size, and quota for it"
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
