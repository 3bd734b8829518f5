/* SPDX-License-Identifier: MIT */
/*
 * The local operations, each on every type, against numbers of any size.
 *
 * One thread. A variable in a row of variables gets a value, one operation is done, and the whole
 * row is looked at: the variable has become what the model makes of it, cut to its width, and no
 * byte beside it has changed. Compiled once per way, as C and as C++; the model knows nothing of
 * ways, widths wrap in it alone.
 */
#include "test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERCPU_LOCAL_SHORT_NAMES
#include <percpu/percpu.h>

/* ---- Big integers: two's complement to the base 256, lowest digit first ---- */

enum { DIGITS = 24 };

struct big {
	unsigned char digit[DIGITS];
};

static size_t digit_at(size_t i, size_t size)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : size - 1 - i;
}

static struct big big_of(const void *value, size_t size, bool has_sign)
{
	const unsigned char *byte = (const unsigned char *)value;
	bool negative = has_sign && (byte[digit_at(size - 1, size)] & 0x80);
	struct big big;

	for (size_t i = 0; i < DIGITS; i++)
		big.digit[i] = i < size ? byte[digit_at(i, size)] : negative ? 0xff : 0;
	return big;
}

static struct big big_small(int value)
{
	return big_of(&value, sizeof(value), true);
}

static struct big big_sum(struct big a, struct big b)
{
	unsigned carry = 0;

	for (size_t i = 0; i < DIGITS; i++) {
		unsigned sum = a.digit[i] + b.digit[i] + carry;

		a.digit[i] = (unsigned char)(sum & 0xff);
		carry = sum >> 8;
	}
	return a;
}

static struct big big_negative(struct big a)
{
	for (size_t i = 0; i < DIGITS; i++)
		a.digit[i] = (unsigned char)~a.digit[i];
	return big_sum(a, big_small(1));
}

/* What a variable of that size keeps of it. */
static struct big big_cut(struct big a, size_t size, bool has_sign)
{
	bool negative = has_sign && (a.digit[size - 1] & 0x80);

	memset(a.digit + size, negative ? 0xff : 0, DIGITS - size);
	return a;
}

static bool big_equal(struct big a, struct big b)
{
	return memcmp(a.digit, b.digit, DIGITS) == 0;
}

static void big_store(struct big a, void *value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((unsigned char *)value)[digit_at(i, size)] = a.digit[i];
}

/* ---- The operations ---- */

enum op {
	OP_READ,
	OP_SET,
	OP_ADD,
	OP_SUB,
	OP_INC,
	OP_DEC,
	OP_ADD_RETURN,
	OP_SUB_RETURN,
	OP_INC_RETURN,
	OP_DEC_RETURN,
	OP_XCHG,
	OP_CMPXCHG,
	OP_ADD_UNLESS,
	OP_INC_NOT_ZERO,
	OP_SUB_AND_TEST,
	OP_DEC_AND_TEST,
	OP_INC_AND_TEST,
	OP_ADD_NEGATIVE,
	OPS,
};

enum answer { NOTHING, VALUE, TRUTH };

static enum answer answer_of(int op)
{
	switch (op) {
	case OP_SET:
	case OP_ADD:
	case OP_SUB:
	case OP_INC:
	case OP_DEC:
		return NOTHING;
	case OP_ADD_UNLESS:
	case OP_INC_NOT_ZERO:
	case OP_SUB_AND_TEST:
	case OP_DEC_AND_TEST:
	case OP_INC_AND_TEST:
	case OP_ADD_NEGATIVE:
		return TRUTH;
	default:
		return VALUE;
	}
}

/* What is in the variable afterwards, and what is returned. */
struct outcome {
	struct big after, value;
	bool truth;
};

static struct outcome model_sum(struct big was, struct big n, size_t size, bool has_sign)
{
	struct outcome out;

	out.after = big_cut(big_sum(was, n), size, has_sign);
	out.value = out.after;
	out.truth = big_equal(out.after, big_small(0));
	return out;
}

static struct outcome model(int op, struct big was, struct big a, struct big b, size_t size,
			    bool has_sign)
{
	struct outcome out = model_sum(was, big_small(0), size, has_sign);
	const struct big one = big_small(1);

	switch (op) {
	case OP_READ:
		return out;
	case OP_SET:
	case OP_XCHG:
		out.after = a;
		return out;
	case OP_CMPXCHG:
		out.after = big_equal(was, a) ? b : was;
		return out;
	case OP_ADD_UNLESS:
	case OP_INC_NOT_ZERO:
		out.truth = !big_equal(was, op == OP_ADD_UNLESS ? b : big_small(0));
		if (out.truth)
			out.after = big_cut(big_sum(was, op == OP_ADD_UNLESS ? a : one), size,
					    has_sign);
		return out;
	case OP_SUB:
	case OP_SUB_RETURN:
	case OP_SUB_AND_TEST:
		return model_sum(was, big_negative(a), size, has_sign);
	case OP_INC:
	case OP_INC_RETURN:
	case OP_INC_AND_TEST:
		return model_sum(was, one, size, has_sign);
	case OP_DEC:
	case OP_DEC_RETURN:
	case OP_DEC_AND_TEST:
		return model_sum(was, big_negative(one), size, has_sign);
	default:
		out = model_sum(was, a, size, has_sign);
		if (op == OP_ADD_NEGATIVE)
			out.truth = out.after.digit[DIGITS - 1] != 0;
		return out;
	}
}

/* ---- The types ---- */

/* Variables in a row, so that narrow ones stand at every place of a word. */
#define ROW 10
#define FIRST_PLACE 1
#define LAST_PLACE (ROW - 2)
#define GUARD 0x5a

struct type {
	size_t size;
	bool has_sign;
	/* The row: its bytes, and those of one variable. A counter may be several values. */
	unsigned char *row;
	size_t variable;
	/* Does one operation on one variable; true: the value is in *value, or the truth is. */
	void (*run)(int op, size_t place, const void *a, const void *b, void *value, bool *truth);
};

#define COUNTER_CASES(T, name)                                                                     \
	case OP_READ:                                                                              \
		*value = percpu_local_counter_read(T, &name[place]);                               \
		break;                                                                             \
	case OP_ADD:                                                                               \
		percpu_local_counter_add(T, &name[place], a);                                      \
		break;                                                                             \
	case OP_SUB:                                                                               \
		percpu_local_counter_sub(T, &name[place], a);                                      \
		break;                                                                             \
	case OP_INC:                                                                               \
		percpu_local_counter_inc(T, &name[place]);                                         \
		break;                                                                             \
	case OP_DEC:                                                                               \
		percpu_local_counter_dec(T, &name[place]);                                         \
		break

#define ATOMIC_CASES(T, name)                                                                      \
	case OP_READ:                                                                              \
		*value = percpu_local_atomic_read(T, &name[place]);                                \
		break;                                                                             \
	case OP_SET:                                                                               \
		percpu_local_atomic_set(T, &name[place], a);                                       \
		break;                                                                             \
	case OP_ADD:                                                                               \
		percpu_local_atomic_add(T, &name[place], a);                                       \
		break;                                                                             \
	case OP_SUB:                                                                               \
		percpu_local_atomic_sub(T, &name[place], a);                                       \
		break;                                                                             \
	case OP_INC:                                                                               \
		percpu_local_atomic_inc(T, &name[place]);                                          \
		break;                                                                             \
	case OP_DEC:                                                                               \
		percpu_local_atomic_dec(T, &name[place]);                                          \
		break;                                                                             \
	case OP_ADD_RETURN:                                                                        \
		*value = percpu_local_atomic_add_return(T, &name[place], a);                       \
		break;                                                                             \
	case OP_SUB_RETURN:                                                                        \
		*value = percpu_local_atomic_sub_return(T, &name[place], a);                       \
		break;                                                                             \
	case OP_INC_RETURN:                                                                        \
		*value = percpu_local_atomic_inc_return(T, &name[place]);                          \
		break;                                                                             \
	case OP_DEC_RETURN:                                                                        \
		*value = percpu_local_atomic_dec_return(T, &name[place]);                          \
		break;                                                                             \
	case OP_XCHG:                                                                              \
		*value = percpu_local_atomic_xchg(T, &name[place], a);                             \
		break;                                                                             \
	case OP_CMPXCHG:                                                                           \
		*value = percpu_local_atomic_cmpxchg(T, &name[place], a, b);                       \
		break;                                                                             \
	case OP_ADD_UNLESS:                                                                        \
		*truth = percpu_local_atomic_add_unless(T, &name[place], a, b);                    \
		break;                                                                             \
	case OP_INC_NOT_ZERO:                                                                      \
		*truth = percpu_local_atomic_inc_not_zero(T, &name[place]);                        \
		break;                                                                             \
	case OP_SUB_AND_TEST:                                                                      \
		*truth = percpu_local_atomic_sub_and_test(T, &name[place], a);                     \
		break;                                                                             \
	case OP_DEC_AND_TEST:                                                                      \
		*truth = percpu_local_atomic_dec_and_test(T, &name[place]);                        \
		break;                                                                             \
	case OP_INC_AND_TEST:                                                                      \
		*truth = percpu_local_atomic_inc_and_test(T, &name[place]);                        \
		break;                                                                             \
	case OP_ADD_NEGATIVE:                                                                      \
		*truth = percpu_local_atomic_add_negative(T, &name[place], a);                     \
		break

#define DEFINE_RUN(T, name, cases)                                                                 \
	static void run_##name(int op, size_t place, const void *a_, const void *b_, void *value_, \
			       bool *truth)                                                        \
	{                                                                                          \
		T a, b, *value = (T *)value_;                                                      \
		memcpy(&a, a_, sizeof(a));                                                         \
		memcpy(&b, b_, sizeof(b));                                                         \
		(void)a, (void)b, (void)truth;                                                     \
		switch (op) {                                                                      \
			cases(T, name);                                                            \
		default:                                                                           \
			test_fail(__FILE__, __LINE__, "no operation %d", op);                      \
		}                                                                                  \
	}                                                                                          \
	static const struct type type_##name = {sizeof(T), (T)-1 < (T)1, (unsigned char *)name,    \
						sizeof(name[0]), run_##name}

static void fill_row(const struct type *type, size_t place, const struct big *values)
{
	memset(type->row, GUARD, ROW * type->variable);
	for (size_t i = 0; i < type->variable / type->size; i++)
		big_store(values[i], type->row + place * type->variable + i * type->size,
			  type->size);
}

static struct big value_in_row(const struct type *type, size_t place, size_t i)
{
	return big_of(type->row + place * type->variable + i * type->size, type->size,
		      type->has_sign);
}

static void check_neighbours(const struct type *type, size_t place)
{
	for (size_t i = 0; i < ROW * type->variable; i++)
		if (i / type->variable != place)
			CHECK_EQ(type->row[i], GUARD);
}

/* ---- Single operations on the edges ---- */

static uint64_t random_word(void)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x * 0x2545f4914f6cdd1du;
}

enum { EDGES = 9 };

static struct big edge(const struct type *type, int number)
{
	uint64_t top = (uint64_t)1 << (8 * type->size - 1);
	const uint64_t edges[EDGES] = {0,
				       1,
				       2,
				       UINT64_MAX,
				       UINT64_MAX - 1,
				       top,
				       top - 1,
				       0x123456789abcdef0u,
				       random_word()};
	struct big big = big_of(&edges[number], sizeof(edges[number]), false);

	return big_cut(big, type->size, type->has_sign);
}

/* Runs an operation on a variable and compares what is returned; what is in it, the caller does. */
static struct outcome run(const struct type *type, int op, size_t place, struct big was,
			  struct big a, struct big b)
{
	struct outcome out = model(op, was, a, b, type->size, type->has_sign);
	unsigned char a_[8], b_[8], value[8] __attribute__((aligned(8)));
	bool truth = false;

	big_store(a, a_, type->size);
	big_store(b, b_, type->size);
	type->run(op, place, a_, b_, value, &truth);
	if (answer_of(op) == VALUE)
		CHECK(big_equal(big_of(value, type->size, type->has_sign), out.value));
	if (answer_of(op) == TRUTH)
		CHECK_EQ(truth, out.truth);
	return out;
}

static void check_atomic(const struct type *type, int op, size_t place, int i, int j, int k)
{
	const struct big was = edge(type, i);
	struct outcome out;

	fill_row(type, place, &was);
	out = run(type, op, place, was, edge(type, j), edge(type, k));
	CHECK(big_equal(value_in_row(type, place, 0), out.after));
	check_neighbours(type, place);
}

static void check_atomics(const struct type *type)
{
	for (size_t place = FIRST_PLACE; place <= LAST_PLACE; place++)
		for (int i = 0; i < EDGES; i++)
			for (int j = 0; j < EDGES; j++)
				for (int op = 0; op < OPS; op++)
					check_atomic(type, op, place, i, j,
						     (i * 5 + j * 3) % EDGES);
	/* Compares that find what they look for. */
	for (int i = 0; i < EDGES; i++)
		for (int j = 0; j < EDGES; j++) {
			check_atomic(type, OP_CMPXCHG, FIRST_PLACE, i, i, j);
			check_atomic(type, OP_ADD_UNLESS, FIRST_PLACE, i, j, i);
		}
}

/*
 * A counter of several values, each with something in it, in a context of some depth: the sum is
 * right, and the other values are as they were.
 */
static void check_counter(const struct type *type, int op, size_t place, unsigned depth, int i,
			  int j)
{
	const size_t count = type->variable / type->size;
	const struct big values[3] = {edge(type, i), edge(type, (i + j) % EDGES), edge(type, j)};
	struct big was = values[0];
	struct outcome out;

	for (size_t v = 1; v < count; v++)
		was = big_sum(was, values[v]);
	fill_row(type, place, values);
	for (unsigned d = 0; d < depth; d++)
		PERCPU_HANDLER_ENTER();
	out = run(type, op, place, was, edge(type, j), edge(type, i));
	for (unsigned d = 0; d < depth; d++)
		PERCPU_HANDLER_LEAVE();
	was = big_small(0);
	for (size_t v = 0; v < count; v++) {
		was = big_sum(was, value_in_row(type, place, v));
		if (v != depth && count > 1)
			CHECK(big_equal(value_in_row(type, place, v), values[v]));
	}
	CHECK(big_equal(big_cut(was, type->size, type->has_sign), out.after));
	check_neighbours(type, place);
}

static void check_counters(const struct type *type)
{
	static const int ops[] = {OP_READ, OP_ADD, OP_SUB, OP_INC, OP_DEC};
	unsigned depths = (unsigned)(type->variable / type->size);

	for (size_t place = FIRST_PLACE; place <= LAST_PLACE; place++)
		for (unsigned depth = 0; depth < depths; depth++)
			for (int i = 0; i < EDGES; i++)
				for (int j = 0; j < EDGES; j++)
					for (size_t op = 0; op < sizeof(ops) / sizeof(ops[0]); op++)
						check_counter(type, ops[op], place, depth, i, j);
}

/* ---- Many operations, one after the other ---- */

static struct big random_operand(const struct type *type)
{
	uint64_t word = random_word();
	struct big big;

	/* Half of them are small, so that all sums are not random either. */
	if (word & 1)
		return big_small((int)(word >> 8) % 50);
	word = random_word();
	big = big_of(&word, sizeof(word), false);
	return big_cut(big, type->size, type->has_sign);
}

/* A sum that never wraps beside a variable that does, over and over. */
static void check_walk(const struct type *type)
{
	static const int ops[] = {OP_ADD, OP_SUB, OP_INC, OP_DEC};
	const struct big zeros[3] = {big_small(0), big_small(0), big_small(0)};
	struct big sum = zeros[0];
	struct outcome out;

	fill_row(type, FIRST_PLACE, zeros);
	for (unsigned i = 0; i < 5000; i++) {
		int op = ops[random_word() % 4];
		struct big n = random_operand(type);

		(void)run(type, op, FIRST_PLACE, big_small(0), n, n);
		if (op == OP_INC || op == OP_DEC)
			n = big_small(1);
		sum = big_sum(sum, op == OP_SUB || op == OP_DEC ? big_negative(n) : n);
		if (i % 50 == 0)
			(void)run(type, OP_READ, FIRST_PLACE, sum, n, n);
	}
	out = run(type, OP_READ, FIRST_PLACE, sum, sum, sum);
	CHECK(big_equal(out.value, big_cut(sum, type->size, type->has_sign)));
	check_neighbours(type, FIRST_PLACE);
}

#define TEST_INTEGER(tag, T)                                                                       \
	static PERCPU_DECLARE_LOCAL_ATOMIC(T, atomic_##tag[ROW]);                                  \
	DEFINE_RUN(T, atomic_##tag, ATOMIC_CASES);                                                 \
	static PERCPU_DECLARE_LOCAL_COUNTER(T, counter_##tag[ROW]);                                \
	DEFINE_RUN(T, counter_##tag, COUNTER_CASES);                                               \
	TEST(tag##_atomics_follow_the_model)                                                       \
	{                                                                                          \
		check_atomics(&type_atomic_##tag);                                                 \
	}                                                                                          \
	TEST(tag##_counters_follow_the_model)                                                      \
	{                                                                                          \
		check_counters(&type_counter_##tag);                                               \
	}                                                                                          \
	TEST(tag##_sums_wrap_as_the_model_does)                                                    \
	{                                                                                          \
		check_walk(&type_atomic_##tag);                                                    \
		check_walk(&type_counter_##tag);                                                   \
	}

TEST_INTEGER(char, char)
TEST_INTEGER(signed_char, signed char)
TEST_INTEGER(unsigned_char, unsigned char)
TEST_INTEGER(short, short)
TEST_INTEGER(unsigned_short, unsigned short)
TEST_INTEGER(int, int)
TEST_INTEGER(unsigned_int, unsigned int)
TEST_INTEGER(long, long)
TEST_INTEGER(unsigned_long, unsigned long)
#if PERCPU__WORD_MAX == 8
TEST_INTEGER(long_long, long long)
TEST_INTEGER(unsigned_long_long, unsigned long long)
#endif

/* ---- Pointers ---- */

TEST(pointers_are_read_set_and_exchanged)
{
	static int a, b;
	static PERCPU_DECLARE_LOCAL_ATOMIC(int *, row[3]);

	for (size_t i = 0; i < 3; i++)
		percpu_local_atomic_set(int *, &row[i], &a);
	CHECK(percpu_local_atomic_read(int *, &row[1]) == &a);
	CHECK(percpu_local_atomic_xchg(int *, &row[1], &b) == &a);
	CHECK(percpu_local_atomic_cmpxchg(int *, &row[1], &a, NULL) == &b);
	CHECK(percpu_local_atomic_cmpxchg(int *, &row[1], &b, NULL) == &b);
	CHECK(percpu_local_atomic_read(int *, &row[1]) == NULL);
	percpu_local_atomic_set(int *, &row[1], &b);
	CHECK(percpu_local_atomic_read(int *, &row[1]) == &b);
	CHECK(percpu_local_atomic_read(int *, &row[0]) == &a);
	CHECK(percpu_local_atomic_read(int *, &row[2]) == &a);
}

TEST(pointers_to_const_and_to_nothing_are_exchanged)
{
	static const char text[] = "ab";
	static PERCPU_DECLARE_LOCAL_ATOMIC(const char *, letter);
	static PERCPU_DECLARE_LOCAL_ATOMIC(void *, thing);

	percpu_local_atomic_set(const char *, &letter, text);
	CHECK(percpu_local_atomic_xchg(const char *, &letter, text + 1) == text);
	CHECK(*percpu_local_atomic_read(const char *, &letter) == 'b');
	CHECK(percpu_local_atomic_xchg(void *, &thing, &thing) == NULL);
	CHECK(percpu_local_atomic_cmpxchg(void *, &thing, &thing, NULL) == &thing);
}

/* ---- The rules of the macros ---- */

/* i chooses the variable, n and m are operands: all are counted on by being evaluated. */
#define ONCE(call, operands)                                                                       \
	do {                                                                                       \
		size_t i = 1;                                                                      \
		T n = 5, m = 5;                                                                    \
		(void)(call);                                                                      \
		CHECK_EQ(i, 2);                                                                    \
		CHECK_EQ(n + m, 10 + (operands));                                                  \
	} while (0)

#define ONCE_EACH(type)                                                                            \
	do {                                                                                       \
		typedef type T;                                                                    \
		static PERCPU_DECLARE_LOCAL_ATOMIC(T, v[3]);                                       \
		static PERCPU_DECLARE_LOCAL_COUNTER(T, c[3]);                                      \
		ONCE(percpu_local_counter_read(T, &c[i++]), 0);                                    \
		ONCE(percpu_local_counter_inc(T, &c[i++]), 0);                                     \
		ONCE(percpu_local_counter_dec(T, &c[i++]), 0);                                     \
		ONCE(percpu_local_counter_add(T, &c[i++], n++), 1);                                \
		ONCE(percpu_local_counter_sub(T, &c[i++], n++), 1);                                \
		ONCE(percpu_local_atomic_read(T, &v[i++]), 0);                                     \
		ONCE(percpu_local_atomic_set(T, &v[i++], n++), 1);                                 \
		ONCE(percpu_local_atomic_inc(T, &v[i++]), 0);                                      \
		ONCE(percpu_local_atomic_dec(T, &v[i++]), 0);                                      \
		ONCE(percpu_local_atomic_add(T, &v[i++], n++), 1);                                 \
		ONCE(percpu_local_atomic_sub(T, &v[i++], n++), 1);                                 \
		ONCE(percpu_local_atomic_add_return(T, &v[i++], n++), 1);                          \
		ONCE(percpu_local_atomic_sub_return(T, &v[i++], n++), 1);                          \
		ONCE(percpu_local_atomic_inc_return(T, &v[i++]), 0);                               \
		ONCE(percpu_local_atomic_dec_return(T, &v[i++]), 0);                               \
		ONCE(percpu_local_atomic_xchg(T, &v[i++], n++), 1);                                \
		ONCE(percpu_local_atomic_cmpxchg(T, &v[i++], n++, m++), 2);                        \
		ONCE(percpu_local_atomic_add_unless(T, &v[i++], n++, m++), 2);                     \
		ONCE(percpu_local_atomic_inc_not_zero(T, &v[i++]), 0);                             \
		ONCE(percpu_local_atomic_sub_and_test(T, &v[i++], n++), 1);                        \
		ONCE(percpu_local_atomic_dec_and_test(T, &v[i++]), 0);                             \
		ONCE(percpu_local_atomic_inc_and_test(T, &v[i++]), 0);                             \
		ONCE(percpu_local_atomic_add_negative(T, &v[i++], n++), 1);                        \
		CHECK_EQ(percpu_local_atomic_read(T, &v[0]), 0);                                   \
		CHECK_EQ(percpu_local_atomic_read(T, &v[2]), 0);                                   \
		CHECK_EQ(percpu_local_counter_read(T, &c[0]), 0);                                  \
		CHECK_EQ(percpu_local_counter_read(T, &c[2]), 0);                                  \
	} while (0)

TEST(each_argument_is_evaluated_once)
{
	ONCE_EACH(long);
	ONCE_EACH(short);
	ONCE_EACH(unsigned char);
}

TEST(variables_live_in_structs_threads_and_behind_const_pointers)
{
	struct stats {
		char before;
		PERCPU_DECLARE_LOCAL_COUNTER(short, calls);
		char between;
		PERCPU_DECLARE_LOCAL_ATOMIC(unsigned, state);
	};
	static __thread PERCPU_DECLARE_LOCAL_COUNTER(long, mine);
	struct stats stats;
	const struct stats *view = &stats;

	memset(&stats, 0, sizeof(stats));
	percpu_local_counter_add(short, &stats.calls, 7);
	percpu_local_atomic_set(unsigned, &stats.state, 9);
	percpu_local_counter_inc(long, &mine);
	CHECK_EQ(percpu_local_counter_read(short, &view->calls), 7);
	CHECK_EQ(percpu_local_atomic_read(unsigned, &view->state), 9);
	CHECK_EQ(percpu_local_counter_read(long, &mine), 1);
	CHECK_EQ(stats.before + stats.between, 0);
}

static PERCPU_DECLARE_LOCAL_ATOMIC(long, forked);

static void change_in_child(void *arg)
{
	(void)arg;
	CHECK_EQ(percpu_local_atomic_add_return(long, &forked, 2), 42);
}

TEST(a_forked_child_changes_its_own_copy)
{
	percpu_local_atomic_set(long, &forked, 40);
	CHECK_EQ(test_in_child(change_in_child, NULL), TEST_PASSED);
	CHECK_EQ(percpu_local_atomic_read(long, &forked), 40);
}

/* ---- What the preprocessor knows ---- */

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

#if PERCPU_LOCAL_COUNTER_SAFE_ANYWHERE
#define COUNTER_SAFE true
#else
#define COUNTER_SAFE false
#endif
#if PERCPU_LOCAL_ATOMIC_SAFE_ANYWHERE
#define ATOMIC_SAFE true
#else
#define ATOMIC_SAFE false
#endif

static bool safe_anywhere(const char *way)
{
	return strcmp(way, "local") == 0 || strcmp(way, "atomic") == 0;
}

TEST(the_preprocessor_knows_whether_the_way_is_safe_in_any_handler)
{
	const char *counter = TEXT(PERCPU_LOCAL_COUNTER_WAY),
		   *atomic = TEXT(PERCPU_LOCAL_ATOMIC_WAY);

	CHECK_EQ(COUNTER_SAFE, safe_anywhere(counter));
	CHECK_EQ(ATOMIC_SAFE, safe_anywhere(atomic));
#if defined(WANTED_COUNTER_WAY)
	CHECK_STR_EQ(counter, WANTED_COUNTER_WAY);
	CHECK_STR_EQ(atomic, WANTED_ATOMIC_WAY);
#else
	/* Nothing was said: what is safe everywhere, and unlocked where there is such a thing. */
	CHECK(COUNTER_SAFE && ATOMIC_SAFE);
	CHECK_STR_EQ(counter, ARCH_HAVE_LOCAL ? "local" : "atomic");
	CHECK_STR_EQ(atomic, ARCH_HAVE_LOCAL ? "local" : "atomic");
#endif
}

/* ---- The short names ---- */

TEST(short_names_are_the_long_ones)
{
	static DECLARE_LOCAL_COUNTER(int, c);
	static DECLARE_LOCAL_ATOMIC(int, a);

	local_counter_add(int, &c, 5);
	local_counter_sub(int, &c, 2);
	local_counter_inc(int, &c);
	local_counter_inc(int, &c);
	local_counter_dec(int, &c);
	CHECK_EQ(local_counter_read(int, &c), 4);
	local_atomic_set(int, &a, 10);
	local_atomic_add(int, &a, 5);
	local_atomic_sub(int, &a, 2);
	local_atomic_inc(int, &a);
	local_atomic_dec(int, &a);
	CHECK_EQ(local_atomic_read(int, &a), 13);
	CHECK_EQ(local_atomic_xchg(int, &a, 1), 13);
	CHECK_EQ(local_atomic_cmpxchg(int, &a, 1, 2), 1);
	CHECK_EQ(local_atomic_add_return(int, &a, 5), 7);
	CHECK_EQ(local_atomic_sub_return(int, &a, 2), 5);
	CHECK_EQ(local_atomic_inc_return(int, &a), 6);
	CHECK_EQ(local_atomic_dec_return(int, &a), 5);
	CHECK(local_atomic_add_unless(int, &a, 1, 4));
	CHECK(local_atomic_inc_not_zero(int, &a));
	CHECK(local_atomic_sub_and_test(int, &a, 7));
	CHECK(!local_atomic_dec_and_test(int, &a));
	CHECK(local_atomic_inc_and_test(int, &a));
	CHECK(local_atomic_add_negative(int, &a, -1));
}

/* ---- The per-CPU forms ---- */

enum { WORDS = 5, CALLS = 1000 };

struct words {
	long array[WORDS];
	unsigned char narrow[WORDS];
};

static struct words *words;

static long total(size_t i)
{
	long sum = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += percpu_ptr(words, slot)->array[i];
	return sum;
}

static unsigned char narrow_total(size_t i)
{
	unsigned sum = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += percpu_ptr(words, slot)->narrow[i];
	return (unsigned char)sum;
}

/* Slots in which a word is that. */
static unsigned slots_with(size_t i, long value)
{
	unsigned count = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		count += percpu_ptr(words, slot)->array[i] == value;
	return count;
}

static void check_totals(long expected)
{
	for (size_t i = 0; i < WORDS; i++) {
		CHECK_EQ(total(i), i == 2 ? expected : 0);
		CHECK_EQ(narrow_total(i), i == 2 ? (unsigned char)expected : 0);
	}
}

TEST(cpu_local_operations_change_one_word_of_an_array)
{
	words = percpu_new(struct words);
	CHECK(words);
	for (size_t n = 0; n < CALLS; n++) {
		size_t i = n % 3, j = 1;

		percpu_cpu_local_add(&words->array[i + 2 - n % 3], 7);
		percpu_cpu_local_sub(words->array + (i * 0 + 2), 3);
		percpu_cpu_local_inc(n % 2 ? &words->array[2] : &words->array[WORDS - 3]);
		percpu_cpu_local_dec(&(&words->array[++j])[0]);
		CHECK_EQ(j, 2);
		percpu_cpu_local_add(&words->narrow[j++], 7);
		percpu_cpu_local_sub(&words->narrow[--j], 3);
		CHECK_EQ(j, 2);
		percpu_cpu_local_inc(&words->narrow[j]);
		percpu_cpu_local_dec(&words->narrow[j]);
	}
	check_totals(4L * CALLS);
	CHECK_OK(percpu_free(words));
}

TEST(raw_cpu_local_operations_change_one_word_of_an_array)
{
	words = percpu_new(struct words);
	CHECK(words);
	for (size_t n = 0; n < CALLS; n++) {
		size_t i = n % 3, j = 1;
		long amount = 6;

		percpu_cpu_local_add_raw(&words->array[i + 2 - n % 3], ++amount);
		percpu_cpu_local_sub_raw(words->array + (i * 0 + 2), amount++ - 4);
		CHECK_EQ(amount, 8);
		percpu_cpu_local_inc_raw(n % 2 ? &words->array[2] : &words->array[WORDS - 3]);
		percpu_cpu_local_dec_raw(&(&words->array[++j])[0]);
		CHECK_EQ(j, 2);
		percpu_cpu_local_add_raw(&words->narrow[j++], 7);
		percpu_cpu_local_sub_raw(&words->narrow[--j], 3);
		CHECK_EQ(j, 2);
		percpu_cpu_local_inc_raw(&words->narrow[j]);
		percpu_cpu_local_dec_raw(&words->narrow[j]);
	}
	check_totals(4L * CALLS);
	CHECK_OK(percpu_free(words));
}

/* A read sees what a slot holds; a store reaches one slot. */
TEST(cpu_local_read_and_set_are_of_one_slot)
{
	size_t i = 1;

	words = percpu_new(struct words);
	CHECK(words);
	percpu_cpu_local_set(&words->array[i++], 11);
	CHECK_EQ(i, 2);
	CHECK_EQ(slots_with(1, 11), 1);
	CHECK_EQ(total(1), 11);
	percpu_cpu_local_set_raw(&words->array[i++], 12);
	CHECK_EQ(i, 3);
	CHECK_EQ(slots_with(2, 12), 1);
	CHECK_EQ(total(2), 12);
	CHECK_EQ(total(0) + total(3), 0);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		((struct words *)percpu__slot(words, slot))->array[3] = 13;
	CHECK_EQ(percpu_cpu_local_read(&words->array[i++]), 13);
	CHECK_EQ(percpu_cpu_local_read_raw(&words->array[--i]), 13);
	CHECK_EQ(i, 3);
	CHECK_OK(percpu_free(words));
}

TEST(cpu_local_short_names_are_the_long_ones)
{
	words = percpu_new(struct words);
	CHECK(words);
	cpu_local_set(&words->array[1], 0);
	cpu_local_add(&words->array[1], 5);
	cpu_local_sub(&words->array[1], 2);
	cpu_local_inc(&words->array[1]);
	cpu_local_inc(&words->array[1]);
	cpu_local_dec(&words->array[1]);
	CHECK_EQ(total(1), 4);
	__cpu_local_set(&words->array[2], 0);
	__cpu_local_add(&words->array[2], 5);
	__cpu_local_sub(&words->array[2], 2);
	__cpu_local_inc(&words->array[2]);
	__cpu_local_inc(&words->array[2]);
	__cpu_local_dec(&words->array[2]);
	CHECK_EQ(total(2), 4);
	CHECK_EQ(cpu_local_read(&words->array[3]) + __cpu_local_read(&words->array[4]), 0);
	CHECK_OK(percpu_free(words));
}

TEST_MAIN()
