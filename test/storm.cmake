# Exact sums while everything that can come between two instructions does.
percpu_test(test_storm LABELS storm SOURCES
  test_storm.c storm_engine.c storm_words.c storm_bits.c storm_sequences.c storm_products.c)
percpu_test(test_storm_threads LABELS storm SOURCES test_storm_threads.c)
