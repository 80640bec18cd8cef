"""Train an encoder on requests whose tools are known. `quartermaster train` runs it; a catalog names its folder.

`requests` makes pairs of a request and a tool, from catalogs and files. `trainer` runs sentence-transformers' trainer
with batches of near tools. `measuring` compares the result with its base on requests that were held back, `saving`
writes it, and `command` puts the steps together. `trainer` and `saving` import torch, only once training begins.
"""

from quartermaster.training.command import TrainingReport, train_encoder
from quartermaster.training.requests import LabelledRequests, TrainingPlan, pairs_of_catalogs, read_requests

__all__ = ["LabelledRequests", "TrainingPlan", "TrainingReport", "pairs_of_catalogs", "read_requests", "train_encoder"]
