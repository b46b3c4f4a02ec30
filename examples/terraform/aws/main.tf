# One machine with a GPU on AWS, reachable by SSH only.
terraform {
  required_version = ">= 1.4"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}

provider "aws" {
  region = var.region
}

# Debian's images; the account is listed at wiki.debian.org/Cloud/AmazonEC2Image.
data "aws_ami" "debian" {
  most_recent = true
  owners      = ["136693071363"]

  filter {
    name   = "name"
    values = ["debian-12-amd64-*"]
  }
}

resource "aws_vpc" "fleet" {
  cidr_block = "10.90.0.0/16"
  tags       = { Name = "${var.name}-net" }
}

resource "aws_internet_gateway" "fleet" {
  vpc_id = aws_vpc.fleet.id
}

resource "aws_subnet" "fleet" {
  vpc_id                  = aws_vpc.fleet.id
  cidr_block              = "10.90.0.0/24"
  map_public_ip_on_launch = true
}

resource "aws_route_table" "fleet" {
  vpc_id = aws_vpc.fleet.id

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.fleet.id
  }
}

resource "aws_route_table_association" "fleet" {
  subnet_id      = aws_subnet.fleet.id
  route_table_id = aws_route_table.fleet.id
}

resource "aws_security_group" "ssh" {
  name        = "${var.name}-ssh"
  description = "SSH in, everything out"
  vpc_id      = aws_vpc.fleet.id

  ingress {
    protocol    = "tcp"
    from_port   = 22
    to_port     = 22
    cidr_blocks = var.ssh_from
  }

  egress {
    protocol    = "-1"
    from_port   = 0
    to_port     = 0
    cidr_blocks = ["0.0.0.0/0"]
  }
}

resource "aws_key_pair" "admin" {
  key_name   = "${var.name}-admin"
  public_key = file(pathexpand(var.ssh_public_key))
}

# Without an instance profile, jobs get no identity from the metadata address.
resource "aws_instance" "gpu" {
  ami                    = data.aws_ami.debian.id
  instance_type          = var.instance_type
  subnet_id              = aws_subnet.fleet.id
  vpc_security_group_ids = [aws_security_group.ssh.id]
  key_name               = aws_key_pair.admin.key_name
  tags                   = { Name = var.name }

  # A machine that powers itself off is kept, and costs only its disk.
  instance_initiated_shutdown_behavior = "stop"

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    volume_size = var.disk_gb
    volume_type = "gp3"
    encrypted   = true
  }

  # A newer image does not replace the machine.
  lifecycle {
    ignore_changes = [ami]
  }
}
