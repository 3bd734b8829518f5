/* SPDX-License-Identifier: MIT */
/*
 * The this_cpu operations, each on every kind of word, against what C says.
 *
 * One thread. All copies of an object are set, one operation is done, and all copies are looked
 * at: at most one word in one slot may have changed, to what C makes of it, and no byte beside it.
 * Compiled as C and as C++, with inlined sequences and with calls (PERCPU_OUTLINE).
 */
#include "test.h"

#include <stdbool.h>
#include <stdint.h>

#include <percpu/percpu.h>

#define GUARD 0x5a

static struct percpu_mode_info mode;
static unsigned long on_cpu_slots;

/* The object of a test: two words of one type between guards, in every slot. */
static unsigned char *object;
static size_t word_size;
/* Offsets of the two words; each has its own size before and behind it for guards. */
#define FIRST word_size
#define SECOND (3 * word_size)
#define OBJECT (5 * word_size)

static unsigned char *copy_of(unsigned slot)
{
	return (unsigned char *)percpu__slot(object, slot);
}

static void begin(size_t size)
{
	void *p;

	CHECK_OK(percpu_mode(&mode));
	word_size = size;
	CHECK_OK(percpu_alloc(&p, OBJECT, size));
	object = (unsigned char *)p;
}

static void do_nothing(void)
{
}

static void end(void)
{
	CHECK_OK(percpu_free(object));
	if (mode.sequences)
		CHECK(on_cpu_slots > 0);
	else
		CHECK_EQ(on_cpu_slots, 0);
}

/* Both words of every copy; nobody else is here. */
static void set_all(const void *first, const void *second)
{
	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		memset(copy_of(slot), GUARD, OBJECT);
		memcpy(copy_of(slot) + FIRST, first, word_size);
		memcpy(copy_of(slot) + SECOND, second, word_size);
	}
}

/*
 * The first word went from one value to another in exactly one slot, and nothing else changed.
 * named: the slot that the call reported, or -1.
 */
static void check_one_changed(const void *from, const void *to, const void *second, long named)
{
	bool same = memcmp(from, to, word_size) == 0;
	unsigned changed = 0;

	if (named >= 0) {
		CHECK(named < (long)percpu_nslots());
		on_cpu_slots += named < (long)percpu_ncpus();
	}
	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		unsigned char *copy = copy_of(slot);

		if (memcmp(copy + FIRST, from, word_size) != 0 || (same && (long)slot == named)) {
			CHECK(memcmp(copy + FIRST, to, word_size) == 0);
			CHECK(named < 0 || named == (long)slot);
			on_cpu_slots += named < 0 && slot < percpu_ncpus();
			changed++;
		}
		CHECK(memcmp(copy + SECOND, second, word_size) == 0);
		for (size_t i = 0; i < word_size; i++) {
			CHECK_EQ(copy[i], GUARD);
			CHECK_EQ(copy[FIRST + word_size + i], GUARD);
			CHECK_EQ(copy[SECOND + word_size + i], GUARD);
		}
	}
	CHECK_EQ(changed, !same || named >= 0);
}

/* A number that compilers do not see through: what they make of it is not for them to warn of. */
static unsigned long long opaque(unsigned long long value)
{
	volatile unsigned long long copy = value;

	return copy;
}

/* Values at the edges of the type T. */
#define VALUES(T)                                                                                  \
	const unsigned bits_ = 8 * (unsigned)sizeof(T);                                            \
	const T values[] = {(T)opaque(0),                                                          \
			    (T)opaque(1),                                                          \
			    (T)opaque(2),                                                          \
			    (T)opaque(~0ull),                                                      \
			    (T)opaque(1ull << (bits_ - 1)),                                        \
			    (T)opaque((1ull << (bits_ - 1)) - 1),                                  \
			    (T)opaque(0x5555555555555555ull),                                      \
			    (T)opaque(0x123456789abcdef0ull)}

#define EACH_PAIR(T)                                                                               \
	for (size_t i_ = 0; i_ < sizeof(values) / sizeof(values[0]); i_++)                         \
		for (size_t j_ = 0; j_ < sizeof(values) / sizeof(values[0]); j_++)

/* What C makes of it, wrapping. */
#define C_OP(T, a, op, b) ((T)((unsigned long long)(a)op(unsigned long long)(b)))

#define CHECK_PLAIN(T, call, a, result, other)                                                     \
	do {                                                                                       \
		T result_ = (result);                                                              \
		set_all(&(a), &(other));                                                           \
		call;                                                                              \
		check_one_changed(&(a), &result_, &(other), -1);                                   \
	} while (0)

/* Values that are returned: read, write, exchange, compare and exchange. */
#define CHECK_EXCHANGES(T, p, q, a, b)                                                             \
	do {                                                                                       \
		unsigned slot_ = UINT32_MAX;                                                       \
		T seen_;                                                                           \
		set_all(&(a), &(b));                                                               \
		seen_ = percpu_this_read(p);                                                       \
		CHECK(seen_ == (a));                                                               \
		check_one_changed(&(a), &(a), &(b), -1);                                           \
		CHECK_PLAIN(T, percpu_this_write(p, b), a, b, b);                                  \
		set_all(&(a), &(b));                                                               \
		seen_ = percpu_this_xchg_slot(p, b, &slot_);                                       \
		CHECK(seen_ == (a));                                                               \
		check_one_changed(&(a), &(b), &(b), (long)slot_);                                  \
		set_all(&(a), &(b));                                                               \
		CHECK(percpu_this_xchg(p, b) == (a));                                              \
		set_all(&(a), &(b));                                                               \
		seen_ = percpu_this_cmpxchg_slot(p, a, b, &slot_);                                 \
		CHECK(seen_ == (a));                                                               \
		check_one_changed(&(a), &(b), &(b), (long)slot_);                                  \
		set_all(&(a), &(a));                                                               \
		seen_ = percpu_this_cmpxchg_slot(p, b, b, &slot_);                                 \
		CHECK(seen_ == (a));                                                               \
		check_one_changed(&(a), &(a), &(a), (long)slot_);                                  \
		CHECK(percpu_this_cmpxchg(p, b, b) == (a));                                        \
		CHECK_TWO(p, q, a, b, a, b, true);                                                 \
		CHECK_TWO(p, q, a, b, b, b, (a) == (b));                                           \
		CHECK_TWO(p, q, a, b, a, a, (a) == (b));                                           \
		CHECK_TWO(p, q, a, b, b, a, (a) == (b));                                           \
	} while (0)

/* The words are a and b; they are compared with x and y; the first becomes b if both are equal. */
#define CHECK_TWO(p, q, a, b, x, y, equal)                                                         \
	do {                                                                                       \
		unsigned two_ = UINT32_MAX;                                                        \
		set_all(&(a), &(b));                                                               \
		CHECK_EQ(percpu_this_cmpxchg2_slot(p, x, b, q, y, &two_), (equal));                \
		check_one_changed(&(a), (equal) ? &(b) : &(a), &(b), (long)two_);                  \
		set_all(&(a), &(b));                                                               \
		CHECK_EQ(percpu_this_cmpxchg2(p, x, b, q, y), (equal));                            \
	} while (0)

#define CHECK_BITS(T, p, a, b)                                                                     \
	do {                                                                                       \
		CHECK_PLAIN(T, percpu_this_and(p, b), a, C_OP(T, a, &, b), b);                     \
		CHECK_PLAIN(T, percpu_this_or(p, b), a, C_OP(T, a, |, b), b);                      \
	} while (0)

#define CHECK_ADDITIONS(T, p, a, b)                                                                \
	do {                                                                                       \
		T sum_ = C_OP(T, a, +, b);                                                         \
		unsigned slot_ = UINT32_MAX;                                                       \
		T seen_;                                                                           \
		CHECK_PLAIN(T, percpu_this_add(p, b), a, C_OP(T, a, +, b), b);                     \
		CHECK_PLAIN(T, percpu_this_sub(p, b), a, C_OP(T, a, -, b), b);                     \
		CHECK_PLAIN(T, percpu_this_inc(p), a, C_OP(T, a, +, 1), b);                        \
		CHECK_PLAIN(T, percpu_this_dec(p), a, C_OP(T, a, -, 1), b);                        \
		set_all(&(a), &(b));                                                               \
		seen_ = percpu_this_add_return_slot(p, b, &slot_);                                 \
		CHECK(seen_ == sum_);                                                              \
		check_one_changed(&(a), &sum_, &(b), (long)slot_);                                 \
		set_all(&(a), &(b));                                                               \
		CHECK(percpu_this_add_return(p, b) == sum_);                                       \
	} while (0)

#define WORDS(T) T *p = (T *)(void *)(object + FIRST), *q = (T *)(void *)(object + SECOND)

#define TEST_INTEGER(name, T)                                                                      \
	TEST(name##_words_follow_c)                                                                \
	{                                                                                          \
		VALUES(T);                                                                         \
		begin(sizeof(T));                                                                  \
		WORDS(T);                                                                          \
		EACH_PAIR(T)                                                                       \
		{                                                                                  \
			const T a = values[i_], b = values[j_];                                    \
			CHECK_EXCHANGES(T, p, q, a, b);                                            \
			CHECK_BITS(T, p, a, b);                                                    \
			CHECK_ADDITIONS(T, p, a, b);                                               \
		}                                                                                  \
		end();                                                                             \
	}

enum full_range { LOWEST = INT32_MIN, HIGHEST = INT32_MAX };

TEST_INTEGER(char, char)
TEST_INTEGER(signed_char, signed char)
TEST_INTEGER(unsigned_char, unsigned char)
TEST_INTEGER(short, short)
TEST_INTEGER(unsigned_short, unsigned short)
TEST_INTEGER(int, int)
TEST_INTEGER(unsigned_int, unsigned int)
TEST_INTEGER(long, long)
TEST_INTEGER(unsigned_long, unsigned long)
TEST_INTEGER(enum, enum full_range)
#if PERCPU__WORD_MAX == 8
TEST_INTEGER(long_long, long long)
TEST_INTEGER(unsigned_long_long, unsigned long long)
TEST_INTEGER(int64, int64_t)
#endif

TEST(bool_words_follow_c)
{
	const bool values[] = {false, true};

	begin(sizeof(bool));
	WORDS(bool);
	EACH_PAIR(bool)
	{
		const bool a = values[i_], b = values[j_];

		CHECK_EXCHANGES(bool, p, q, a, b);
		CHECK_PLAIN(bool, percpu_this_and(p, b), a, a &&b, b);
		CHECK_PLAIN(bool, percpu_this_or(p, b), a, a || b, b);
	}
	end();
}

/* Pointers can be exchanged and compared; adding to them does not compile (test/compile). */
#define TEST_POINTER(name, T, one, two)                                                            \
	TEST(name##_words_follow_c)                                                                \
	{                                                                                          \
		T const values[] = {NULL, one, two};                                               \
		begin(sizeof(T));                                                                  \
		WORDS(T);                                                                          \
		EACH_PAIR(T)                                                                       \
		{                                                                                  \
			T const a = values[i_], b = values[j_];                                    \
			CHECK_EXCHANGES(T, p, q, a, b);                                            \
		}                                                                                  \
		end();                                                                             \
	}

typedef const char *text;
typedef void *anything;
typedef void (*function)(void);

TEST_POINTER(pointer, anything, (anything)&mode, (anything)&object)
TEST_POINTER(const_pointer, text, "a", "b")
TEST_POINTER(function_pointer, function, do_nothing, end)

/* Values that are not of the word's type are converted as by assignment. */
TEST(values_are_converted_to_the_words_type)
{
	const unsigned char zero = 0, other = 9;
	unsigned char *p;
	unsigned char expected;

	begin(1);
	p = object + FIRST;
	set_all(&zero, &other);
	percpu_this_add(p, 0x12345ll);
	expected = 0x45;
	check_one_changed(&zero, &expected, &other, -1);
	set_all(&zero, &other);
	percpu_this_sub(p, 1000000u);
	expected = (unsigned char)(0 - 1000000u);
	check_one_changed(&zero, &expected, &other, -1);
	set_all(&zero, &other);
	CHECK_EQ(percpu_this_add_return(p, -1), 255);
	end();
}

static unsigned evaluations;

static unsigned *once(unsigned *p)
{
	evaluations++;
	return p;
}

static unsigned value_once(unsigned value)
{
	evaluations++;
	return value;
}

/* Macros, but arguments with side effects are safe. */
TEST(arguments_are_evaluated_once)
{
	unsigned *p = percpu_new(unsigned), *q = percpu_new(unsigned);
	unsigned slot;

#define COUNTS(call, n)                                                                            \
	do {                                                                                       \
		evaluations = 0;                                                                   \
		call;                                                                              \
		CHECK_EQ(evaluations, n);                                                          \
	} while (0)
	CHECK(p != NULL && q != NULL);
	COUNTS((void)percpu_this_read(once(p)), 1);
	COUNTS(percpu_this_inc(once(p)), 1);
	COUNTS(percpu_this_dec(once(p)), 1);
	COUNTS(percpu_this_write(once(p), value_once(1)), 2);
	COUNTS(percpu_this_add(once(p), value_once(1)), 2);
	COUNTS(percpu_this_sub(once(p), value_once(1)), 2);
	COUNTS(percpu_this_and(once(p), value_once(1)), 2);
	COUNTS(percpu_this_or(once(p), value_once(1)), 2);
	COUNTS((void)percpu_this_add_return(once(p), value_once(1)), 2);
	COUNTS((void)percpu_this_xchg(once(p), value_once(1)), 2);
	COUNTS((void)percpu_this_cmpxchg(once(p), value_once(1), value_once(2)), 3);
	COUNTS((void)percpu_this_cmpxchg2(once(p), value_once(1), value_once(2), once(q),
					  value_once(3)),
	       5);
	COUNTS((void)percpu_this_add_return_slot(once(p), value_once(1), &slot), 2);
#undef COUNTS
}

/* Two words of different types and objects, as long as their sizes agree. */
TEST(two_words_may_be_of_two_objects)
{
	int *p = percpu_new(int);
	unsigned *q = percpu_new(unsigned);
	unsigned slot;

	CHECK(p != NULL && q != NULL);
	CHECK(!percpu_this_cmpxchg2_slot(p, 0, 7, q, 1u, &slot));
	CHECK(percpu_this_cmpxchg2_slot(p, 0, 7, q, 0u, &slot));
	CHECK_EQ(*percpu_ptr(p, slot), 7);
	CHECK_EQ(*percpu_ptr(q, slot), 0);
}

#define CHECK_QUALIFIED(T)                                                                         \
	do {                                                                                       \
		T *plain_ = percpu_new(T);                                                         \
		volatile T *busy_ = plain_;                                                        \
		const T *fixed_ = plain_;                                                          \
		const volatile T *both_ = plain_;                                                  \
		T *const itself_ = plain_;                                                         \
		T const one_ = 1, two_ = 2;                                                        \
		T seen_;                                                                           \
		unsigned slot_;                                                                    \
		CHECK(plain_ != NULL);                                                             \
		seen_ = percpu_this_add_return_slot(busy_, one_, &slot_);                          \
		CHECK(seen_ == one_);                                                              \
		CHECK(*percpu_ptr(plain_, slot_) == one_);                                         \
		for (unsigned i_ = 0; i_ < percpu_nslots(); i_++)                                  \
			*(T *)percpu__slot(plain_, i_) = one_;                                     \
		CHECK(percpu_this_read(busy_) == one_);                                            \
		CHECK(percpu_this_read(fixed_) == one_);                                           \
		CHECK(percpu_this_read(both_) == one_);                                            \
		CHECK(percpu_this_xchg(busy_, one_) == one_);                                      \
		CHECK(percpu_this_cmpxchg(busy_, two_, two_) == one_);                             \
		CHECK(percpu_this_cmpxchg2(busy_, one_, one_, busy_, one_));                       \
		percpu_this_write(itself_, one_);                                                  \
		percpu_this_or(busy_, one_);                                                       \
		percpu_this_and(busy_, one_);                                                      \
		percpu_this_inc(itself_);                                                          \
		CHECK_OK(percpu_free(plain_));                                                     \
	} while (0)

TEST(field_G9_words_may_be_const_and_volatile)
{
	CHECK_QUALIFIED(uint8_t);
	CHECK_QUALIFIED(uint16_t);
	CHECK_QUALIFIED(uint32_t);
	CHECK_QUALIFIED(long);
	CHECK_QUALIFIED(signed char);
#if PERCPU__WORD_MAX == 8
	CHECK_QUALIFIED(uint64_t);
#endif
}

static uint32_t *ticket;

static void go_up(unsigned index, void *arg)
{
	(void)index, (void)arg;
	for (int i = 0; i < 20000; i++) {
		uint32_t seen = percpu_this_read(ticket);

		percpu_this_or(ticket, 0u);
		percpu_this_and(ticket, UINT32_MAX);
		while (1) {
			uint32_t found = percpu_this_cmpxchg(ticket, seen, seen + 1);

			if (found == seen)
				break;
			seen = found;
		}
		(void)percpu_this_add_return(ticket, 1u);
	}
}

static void check_threads(unsigned threads)
{
	uint32_t sum = 0;

	ticket = percpu_new(uint32_t);
	CHECK(ticket != NULL);
	test_threads(threads, go_up, NULL);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += *percpu_ptr(ticket, slot);
	CHECK_EQ(sum, threads * 20000 * 2);
}

TEST(threads_lose_nothing)
{
	check_threads(6);
}

/* On shared slots two threads meet in one, and give way to each other. */
TEST(more_threads_than_slots_lose_nothing)
{
	check_threads(2 * percpu_nslots());
}

TEST_MAIN()
