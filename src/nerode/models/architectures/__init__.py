"""The architectures, one file each: settings, layer, and the row `KIND` of the table `nerode.models.zoo`."""

from nerode.models.architectures.attention import Attention
from nerode.models.architectures.elman import Elman
from nerode.models.architectures.gru import Gru
from nerode.models.architectures.lstm import Lstm
from nerode.models.architectures.orthogonal import Orthogonal
from nerode.models.architectures.slstm import Slstm

__all__ = ["Attention", "Elman", "Gru", "Lstm", "Orthogonal", "Slstm"]
