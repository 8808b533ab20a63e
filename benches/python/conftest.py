"""What a results file says of the machine, and what it leaves out."""

from __future__ import annotations

import os
from typing import Any

import pytest


def pytest_benchmark_update_machine_info(
    config: pytest.Config, machine_info: dict[str, Any]
) -> None:
    """Processor, cores and interpreter; not what one machine is called."""
    for name in ("node", "release"):
        machine_info.pop(name, None)
    machine_info["cores"] = os.cpu_count()
    machine_info["load"] = round(os.getloadavg()[0], 2)


def pytest_benchmark_update_json(
    config: pytest.Config, benchmarks: Any, output_json: dict[str, Any]
) -> None:
    """The figures, not every single time."""
    for row in output_json["benchmarks"]:
        row["stats"].pop("data", None)
