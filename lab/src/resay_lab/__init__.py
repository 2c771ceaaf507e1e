"""Resay's lab: checks of many answers, calibration, and published benchmarks."""
