"""Data sets: the catalogue, readers, and the preparation of rows for learning."""

from onkel.data.bad_file import BadFileError
from onkel.data.catalogue import DataNotFoundError
from onkel.data.datasets import Batch, Dataset
from onkel.data.opening import dataset
from onkel.data.preparation import MISSING, Preparation
from onkel.data.reading_options import ReadingOptions
from onkel.data.scaling import SCALINGS

__all__ = [
    "MISSING",
    "SCALINGS",
    "BadFileError",
    "Batch",
    "DataNotFoundError",
    "Dataset",
    "Preparation",
    "ReadingOptions",
    "dataset",
]
