"""What programs under test get in a guest, beside what their recipes say."""

from __future__ import annotations

from collections.abc import Mapping

_RDRAND, _RDSEED = 1 << 62, 1 << 18
"""Bits of two words in which OpenSSL and BoringSSL keep what a processor can do."""

WITHOUT_RDRAND: Mapping[str, str] = {"OPENSSL_ia32cap": f"~{_RDRAND:#x}:~{_RDSEED:#x}"}
"""Environment that hides the processor's random numbers from OpenSSL and BoringSSL.

A guest's kernel cannot trap RDRAND and RDSEED. BoringSSL mixes RDRAND into its randomness on
processors of Intel; OpenSSL's default source of entropy is the kernel.
"""
