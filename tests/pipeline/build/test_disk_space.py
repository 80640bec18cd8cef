"""Caches of catalogs that are gone are removed, and told."""

import os
import time
from pathlib import Path

import pytest

from pipeline.build.disk_space import remove_unused_caches
from pipeline.progress import StageClock
from tests.support.publishing import Notes
