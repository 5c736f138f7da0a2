"""Recurrent models of other libraries on the CPU kernels of this project, and off them again."""

from nerode.models.acceleration.switch import accelerate as accelerate, accelerated as accelerated
