from resay_lab.benchmarks.metrics import average_precision, spearman

assert average_precision([True, False, True], [0.9, 0.1, 0.8]) == 100.0
assert spearman([0.1, 0.2, 0.3], [1.0, 2.0, 3.0]) == 100.0
