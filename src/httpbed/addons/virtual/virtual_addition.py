"""What virtual time adds to trials: programs in a guest get no random numbers of the processor.

A guest's kernel can neither trap the instructions RDRAND and RDSEED, nor hide that the processor
has them. So each library that uses them is told not to:

* OpenSSL and BoringSSL read a variable. BoringSSL mixes RDRAND into its randomness on processors of
  Intel; OpenSSL's default source of entropy is the kernel.
* GNU's C++ library has no such variable: ``std::random_device`` takes numbers from RDSEED. So
  ``linux/random_device.c`` is loaded before it. This library has functions of the same
  names, which take the numbers from the kernel.

A program that uses these instructions itself, or contains the C++ library, gets other numbers in
each guest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from httpbed.addons.virtual.visible_files import RANDOM_DEVICE
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.experiment.trial import Trial
from httpbed.trial.addition import TrialAddition
from httpbed.trial.attempt_plan import CampaignSetup, TrialPlan

_RDRAND, _RDSEED = 1 << 62, 1 << 18
"""Bits of two words in which OpenSSL and BoringSSL keep what a processor can do."""
_CAPABILITIES, _LOADED_BEFORE = "OPENSSL_ia32cap", "LD_PRELOAD"


def environment(random_device: str, own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a program in a guest: its ``own``, and those that hide the numbers.

    The program finds the library at the path ``random_device``.
    """
    without = {_CAPABILITIES: f"~{_RDRAND:#x}:~{_RDSEED:#x}"}
    loaded = filter(None, (random_device, own.get(_LOADED_BEFORE)))
    return {**without, **own, _LOADED_BEFORE: ":".join(loaded)}


@dataclass(frozen=True)
class VirtualAddition(TrialAddition):
    """Trials in a guest."""

    name: str = "virtual time"

    def process(self, trial: Trial, process: ProcessSpec) -> ProcessSpec:
        """Return a program's process with the variables that it needs in a guest."""
        if trial.clock == "real":
            return process
        with_library = environment(RANDOM_DEVICE, process.environment)
        return replace(process, environment=with_library)

    def shared(self, setup: CampaignSetup, trial: TrialPlan) -> dict[str, Path]:
        """Return the library that programs in a guest load."""
        if trial.trial.clock == "real" or setup.kernel is None:
            return {}
        return {RANDOM_DEVICE: setup.kernel.random_device}


ADDITION = VirtualAddition()
