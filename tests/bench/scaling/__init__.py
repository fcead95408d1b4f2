"""The parts of the benchmark of scale: seeded data, what each stage costs, the questions, the report."""
