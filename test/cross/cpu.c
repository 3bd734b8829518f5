/* SPDX-License-Identifier: MIT */
/* What the other tests of this folder are for: a CPU with these properties. */
#include "test.h"

#include <percpu/percpu.h>

TEST(the_cpu_is_big_endian_and_has_no_sequences)
{
	static const union {
		uint32_t word;
		unsigned char bytes[4];
	} order = {0x01020304};

	CHECK_EQ(order.bytes[0], 1);
	CHECK_EQ(ARCH_HAVE_SEQ, 0);
	CHECK_EQ(ARCH_HAVE_LOCAL, 0);
}

TEST_MAIN()
