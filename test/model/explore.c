/* SPDX-License-Identifier: MIT */
/*
 * The search of explore.h: states, the transitions out of each, and the list of states seen.
 *
 *	states[0]   the begin
 *	states[n]   reached from states[origin[n].parent] by the transition origin[n].how
 *
 * The array is the queue of the search, and the way back for printing. The table finds the index
 * of a state by its hash.
 */
#include "explore.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY ACTORS
#define STATES_MAX (UINT32_C(1) << 25)

/* What an actor is doing. Registers hold words and addresses, which all fit into a byte. */
struct progress {
	uint8_t next;   /* calls begun */
	uint8_t active; /* the last one goes on */
	uint8_t shared; /* it is on the shared slot */
	uint8_t pc;
	uint8_t armed;
	uint8_t half;
	uint8_t aborts;
	uint8_t reg[R_WORK];
};

enum signal { SIGNAL_PENDING, SIGNAL_RUNS, SIGNAL_OVER };

/* Bytes only, in whole words, so that states can be hashed and compared as memory. */
struct state {
	uint8_t memory[MEMORY_SIZE];
	struct progress progress[ACTORS];
	struct record record[CALLS_MAX];
	uint8_t cpu[ACTORS]; /* of the threads A and B */
	uint8_t running[2];  /* thread that each CPU runs, or NOBODY */
	uint8_t signal;      /* enum signal */
	uint8_t fault;
} __attribute__((aligned(8)));

enum event { EVENT_STEP, EVENT_INTERRUPT, EVENT_PREEMPT, EVENT_MIGRATE, EVENT_SIGNAL, EVENTS };

/* A transition: an event that happens to thread A or B. */
#define HOW(event, thread) ((uint8_t)((event)*ACTORS + (thread)))

struct origin {
	uint32_t parent;
	uint8_t how;
};

static struct state *states;
static struct origin *origins;
static uint32_t count, capacity;
static struct entry {
	uint32_t number; /* 1 + index of a state, or 0 */
	uint32_t hash;
} * table;
static uint32_t table_size;

/* ---- One state ---- */

static unsigned other(unsigned thread)
{
	return thread == ACTOR_A ? ACTOR_B : ACTOR_A;
}

/* Who executes the next instruction of a thread: its handler, or itself. */
static unsigned top(const struct state *state, unsigned thread)
{
	return thread == ACTOR_A && state->signal == SIGNAL_RUNS ? ACTOR_HANDLER : thread;
}

static int finished(const struct scenario *scenario, const struct state *state, unsigned thread)
{
	const struct progress *progress = &state->progress[thread];

	return top(state, thread) == thread && !progress->active &&
	       progress->next == scenario->script[thread].length;
}

static int runs(const struct state *state, unsigned thread)
{
	return state->running[state->cpu[thread]] == thread;
}

static const struct call *current(const struct scenario *scenario, const struct state *state,
				  unsigned actor)
{
	return &scenario->script[actor].call[state->progress[actor].next - 1];
}

static int is_drain(const struct call *call)
{
	return call->op > PSEUDO_OPS;
}

static const struct pseudo_program *program_of(const struct call *call, int shared)
{
	if (shared)
		return &pseudo_shared[call->op];
	return call->instead ? call->instead : &pseudo_programs[call->op];
}

static void to_context(const struct progress *progress, struct pseudo_context *context)
{
	unsigned i;

	context->pc = progress->pc;
	context->armed = progress->armed;
	context->half = progress->half;
	context->fault = 0;
	for (i = 0; i < R_WORK; i++)
		context->reg[i] = progress->reg[i];
}

static void from_context(struct progress *progress, const struct pseudo_context *context)
{
	unsigned i;

	progress->pc = context->pc;
	progress->armed = context->armed;
	progress->half = context->half;
	for (i = 0; i < R_WORK; i++)
		progress->reg[i] = (uint8_t)context->reg[i];
}

/* Between calls nothing is left of the last one, so that states that are alike are equal. */
static void forget(struct progress *progress)
{
	progress->active = progress->shared = 0;
	progress->pc = progress->armed = progress->half = progress->aborts = 0;
	memset(progress->reg, 0, sizeof(progress->reg));
}

/* A handler that is through returns; a CPU whose thread ended or left takes the other one. */
static void dispatch(const struct scenario *scenario, struct state *state)
{
	const struct progress *handler = &state->progress[ACTOR_HANDLER];
	unsigned cpu, thread;

	if (handler->next && !handler->active)
		state->signal = SIGNAL_OVER;
	for (cpu = 0; cpu < 2; cpu++) {
		uint8_t *running = &state->running[cpu];

		if (*running != NOBODY &&
		    (state->cpu[*running] != cpu || finished(scenario, state, *running)))
			*running = NOBODY;
		for (thread = ACTOR_A; thread <= ACTOR_B && *running == NOBODY; thread += ACTOR_B)
			if (state->cpu[thread] == cpu && !finished(scenario, state, thread))
				*running = (uint8_t)thread;
	}
}

/* ---- Calls ---- */

static uint8_t ended_calls(const struct state *state)
{
	uint8_t set = 0;
	unsigned i;

	for (i = 0; i < CALLS_MAX; i++)
		if (state->record[i].answer)
			set = (uint8_t)(set | 1u << i);
	return set;
}

static void begin_call(struct state *state, unsigned actor)
{
	struct progress *progress = &state->progress[actor];

	state->record[call_index(actor, progress->next)].before = ended_calls(state);
	forget(progress);
	progress->next++;
	progress->active = 1;
}

/* What a handler's call leaves in rseq_cs is there for the transaction that it interrupted. */
static void leave_pointer(const struct scenario *scenario, struct state *state)
{
	uint8_t left = state->progress[ACTOR_HANDLER].armed;
	struct progress *below = &state->progress[ACTOR_A];

	if (!left || !below->active ||
	    !pseudo_is_transaction(current(scenario, state, ACTOR_A)->op))
		return;
	below->armed = pseudo_is_transaction(current(scenario, state, ACTOR_HANDLER)->op)
			       ? left
			       : DESCRIPTOR_OTHER;
}

static void end_call(const struct scenario *scenario, struct state *state, unsigned actor,
		     int answer, uint64_t value)
{
	struct progress *progress = &state->progress[actor];
	struct record *record = &state->record[call_index(actor, progress->next - 1u)];

	record->answer = (uint8_t)answer;
	record->value = (uint8_t)value;
	record->slot = progress->shared ? SHARED_SLOT_INDEX : progress->reg[R_CPU - R_ARGS];
	if (actor == ACTOR_HANDLER)
		leave_pointer(scenario, state);
	forget(progress);
}

/* What the caller of a sequence does with its answer. */
static void answered(const struct scenario *scenario, struct state *state, unsigned actor,
		     int answer, uint64_t value)
{
	struct progress *progress = &state->progress[actor];
	const struct call *call = current(scenario, state, actor);
	int elsewhere = !is_drain(call) && pseudo_shared[call->op].name && !progress->shared &&
			(answer == PSEUDO_UNAVAILABLE ||
			 (answer == PSEUDO_ABORTED && call->op == PSEUDO_ADD));

	if (!elsewhere) {
		end_call(scenario, state, actor, answer, value);
		return;
	}
	forget(progress);
	progress->active = progress->shared = 1;
}

/* The rule of the kernel, applied when an actor loses its CPU. */
static void kernel_aborts(const struct scenario *scenario, struct state *state, unsigned actor)
{
	struct progress *progress = &state->progress[actor];
	struct pseudo_context context;
	const struct pseudo_program *program;

	if (!progress->active)
		return;
	program = program_of(current(scenario, state, actor), progress->shared);
	to_context(progress, &context);
	progress->armed = 0;
	if (!pseudo_in_range(program, &context))
		return;
	if (program->restart == PSEUDO_CONTINUE)
		return;
	progress->pc = (uint8_t)program->restart;
	/* A transaction's abort handler says so in the end, and is counted there. */
	if (pseudo_is_transaction(current(scenario, state, actor)->op))
		return;
	if (++progress->aborts > scenario->attempts)
		answered(scenario, state, actor, PSEUDO_ABORTED, 0);
}

/* ---- Transitions ---- */

static void step(const struct scenario *scenario, struct state *state, unsigned actor)
{
	const struct script *script = &scenario->script[actor];
	struct progress *progress = &state->progress[actor];
	struct pseudo_memory memory = {ORIGIN, MEMORY_SIZE, state->memory};
	struct pseudo_env env = {&memory, NULL, UINT64_MAX, 2, STRIDE, 1};
	struct pseudo_context context;
	uint64_t arg[R_ARGS], value = 0;
	const struct call *call;
	int answer;

	if (!progress->active)
		begin_call(state, actor);
	call = current(scenario, state, actor);
	env.arg = call->arg;
	if (call->node_from) {
		memcpy(arg, call->arg, sizeof(arg));
		env.arg = arg;
		arg[R_NODE] = arg[R_LAST] =
			state->record[call_index(actor, call->node_from - 1u)].value;
		if (!arg[R_NODE]) { /* that pop got nothing */
			forget(progress);
			return;
		}
	}
	if (script->registered)
		env.cpu = state->cpu[actor == ACTOR_HANDLER ? ACTOR_A : actor];
	to_context(progress, &context);
	if (program_of(call, progress->shared)->step[context.pc].kind == K_FENCE)
		for (unsigned each = 0; each < ACTORS; each++)
			if (each != actor)
				kernel_aborts(scenario, state, each);
	answer = pseudo_step(program_of(call, progress->shared), &env, &context, &value);
	from_context(progress, &context);
	state->fault = context.fault;
	if (answer == PSEUDO_ABORTED && ++progress->aborts <= scenario->attempts)
		progress->pc = 0;
	else if (answer)
		answered(scenario, state, actor, answer, value);
}

static void migrate(const struct scenario *scenario, struct state *state, unsigned thread)
{
	uint8_t *cpu = &state->cpu[thread];

	kernel_aborts(scenario, state, top(state, thread));
	if (runs(state, thread))
		state->running[*cpu] = NOBODY;
	*cpu = !*cpu;
}

static int can_be_preempted(const struct scenario *scenario, const struct state *state,
			    unsigned thread)
{
	return runs(state, thread) && state->cpu[other(thread)] == state->cpu[thread] &&
	       !finished(scenario, state, other(thread));
}

/* 1 if the event can happen to the thread in this state. */
static int possible(const struct scenario *scenario, const struct state *state, unsigned event,
		    unsigned thread)
{
	const struct progress *progress = &state->progress[top(state, thread)];

	if (finished(scenario, state, thread))
		return 0;
	if (event == EVENT_STEP)
		return runs(state, thread);
	if (progress->half)
		return 0;
	switch (event) {
	case EVENT_INTERRUPT: /* an unarmed thread does not notice; two preemptions do the same */
		return runs(state, thread) && progress->armed &&
		       !can_be_preempted(scenario, state, thread);
	case EVENT_PREEMPT:
		return can_be_preempted(scenario, state, thread);
	case EVENT_MIGRATE:
		return scenario->cpus > 1;
	default:
		return runs(state, thread) && thread == ACTOR_A && state->signal == SIGNAL_PENDING;
	}
}

static void happen(const struct scenario *scenario, struct state *state, unsigned event,
		   unsigned thread)
{
	unsigned actor = top(state, thread);

	switch (event) {
	case EVENT_STEP:
		step(scenario, state, actor);
		break;
	case EVENT_INTERRUPT:
		kernel_aborts(scenario, state, actor);
		break;
	case EVENT_PREEMPT:
		kernel_aborts(scenario, state, actor);
		state->running[state->cpu[thread]] = (uint8_t)other(thread);
		break;
	case EVENT_MIGRATE:
		migrate(scenario, state, thread);
		break;
	default:
		kernel_aborts(scenario, state, actor);
		state->signal = SIGNAL_RUNS;
	}
	dispatch(scenario, state);
}

/* ---- The set of states ---- */

#define WORDS (sizeof(struct state) / sizeof(uint64_t))

static uint32_t hash(const struct state *state)
{
	uint64_t h = 0, word[WORDS];
	unsigned i;

	memcpy(word, state, sizeof(word));
	for (i = 0; i < WORDS; i++) {
		h = (h ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	return (uint32_t)(h ^ h >> 32);
}

/* The entry of a state in a table: its own, or the free one where it belongs. */
static struct entry *find(struct entry *in, uint32_t size, const struct state *state, uint32_t h)
{
	uint32_t at = h & (size - 1);

	for (; in[at].number; at = (at + 1) & (size - 1))
		if (in[at].hash == h && !memcmp(&states[in[at].number - 1], state, sizeof(*state)))
			break;
	return &in[at];
}

static int grow_table(void)
{
	uint32_t size = table_size ? table_size * 2 : 1 << 14, i;
	struct entry *bigger = calloc(size, sizeof(*bigger));

	if (!bigger)
		return -1;
	for (i = 0; table && i < table_size; i++)
		if (table[i].number)
			*find(bigger, size, &states[table[i].number - 1], table[i].hash) = table[i];
	free(table);
	table = bigger;
	table_size = size;
	return 0;
}

static int grow_states(void)
{
	uint32_t more = capacity ? capacity * 2 : 1 << 15;
	struct state *new_states = realloc(states, more * sizeof(*states));
	struct origin *new_origins;

	if (!new_states)
		return -1;
	states = new_states;
	new_origins = realloc(origins, more * sizeof(*origins));
	if (!new_origins)
		return -1;
	origins = new_origins;
	capacity = more;
	return 0;
}

/*
 * Makes room for one more state, at states[count], where the caller builds it; add() keeps it
 * unless it is known. Returns -1 where memory ends.
 */
static int reserve(void)
{
	if (count == capacity && (capacity >= STATES_MAX || grow_states() < 0))
		return -1;
	return count >= table_size / 2 ? grow_table() : 0;
}

static void add(uint32_t parent, uint8_t how)
{
	uint32_t h = hash(&states[count]);
	struct entry *entry = find(table, table_size, &states[count], h);

	if (entry->number)
		return;
	origins[count] = (struct origin){parent, how};
	*entry = (struct entry){++count, h};
}

void explore_free(void)
{
	free(states);
	free(origins);
	free(table);
	states = NULL;
	origins = NULL;
	table = NULL;
	count = capacity = table_size = 0;
}

static void first_state(const struct scenario *scenario, struct state *state)
{
	memset(state, 0, sizeof(*state));
	memcpy(state->memory, scenario->memory, MEMORY_SIZE);
	state->running[0] = state->running[1] = NOBODY;
	if (!scenario->script[ACTOR_HANDLER].length)
		state->signal = SIGNAL_OVER;
	dispatch(scenario, state);
}

/* ---- Printing ---- */

static const char thread_name[ACTORS][10] = {"A", "A/signal", "B"};

/* What a step did: the register or the memory that it changed. */
static void print_effect(const struct pseudo_step *s, const struct state *before,
			 const struct state *after, unsigned actor, FILE *out)
{
	unsigned i;

	for (i = 0; i < MEMORY_SIZE; i++)
		if (before->memory[i] != after->memory[i]) {
			fprintf(out, "[0x%02x] = 0x%02x", ORIGIN + i, after->memory[i]);
			return;
		}
	if (after->progress[actor].half)
		fprintf(out, "has read, has not written yet");
	else if (s->kind == K_LOAD || s->kind == K_LOAD_CPU || s->kind == K_SLOT ||
		 s->kind == K_ADDRESS || s->kind == K_ADD)
		fprintf(out, "0x%02x", after->progress[actor].reg[s->a - R_ARGS]);
}

static void print_step(const struct scenario *scenario, const struct state *before,
		       const struct state *after, unsigned thread, FILE *out)
{
	unsigned actor = top(before, thread);
	struct state begun = *before;
	const struct call *call;
	const struct pseudo_step *s;
	char text[80];

	if (!begun.progress[actor].active)
		begin_call(&begun, actor);
	call = current(scenario, &begun, actor);
	s = &program_of(call, begun.progress[actor].shared)->step[begun.progress[actor].pc];
	pseudo_text(s, text, sizeof(text));
	fprintf(out, "%-8s cpu %u  %-12s %-34s ", thread_name[actor], before->cpu[thread],
		program_of(call, begun.progress[actor].shared)->name, text);
	print_effect(s, before, after, actor, out);
	fputc('\n', out);
}

static void print_event(const struct scenario *scenario, const struct state *before,
			const struct state *after, uint8_t how, FILE *out)
{
	static const char *const words[EVENTS] = {"", "is interrupted", "is preempted",
						  "is migrated", "gets a signal"};
	unsigned thread = how % ACTORS, event = how / ACTORS, actor = top(before, thread);
	const struct progress *progress = &before->progress[actor];
	struct pseudo_context context;
	int inside = 0;

	if (event == EVENT_STEP) {
		print_step(scenario, before, after, thread, out);
		return;
	}
	if (progress->active) {
		to_context(progress, &context);
		inside = pseudo_in_range(
			program_of(current(scenario, before, actor), progress->shared), &context);
	}
	fprintf(out, "-- %s %s%s\n", thread_name[actor], words[event],
		inside ? ", inside its range: to the abort handler" : "");
}

static void print_history(const struct scenario *scenario, const struct state *end, FILE *out)
{
	unsigned actor, i;

	for (actor = 0; actor < ACTORS; actor++)
		for (i = 0; i < scenario->script[actor].length; i++) {
			const struct record *r = &end->record[call_index(actor, i)];
			const struct call *call = &scenario->script[actor].call[i];

			fprintf(out, "   %-8s %-12s %s", thread_name[actor],
				program_of(call, 0)->name, pseudo_answer_name(r->answer));
			if (r->answer == PSEUDO_DONE || r->answer == PSEUDO_REFUSED)
				fprintf(out, ", value 0x%02x, slot %u", r->value, r->slot);
			fputc('\n', out);
		}
	for (i = 0; i < SLOTS; i++) {
		const uint8_t *slot = end->memory + (size_t)i * STRIDE;

		fprintf(out,
			"   slot %u at 0x%02x: word 0x%02x, second 0x%02x, data 0x%02x 0x%02x\n", i,
			ORIGIN + i * STRIDE, slot[0], slot[1], slot[2], slot[3]);
	}
	fprintf(out, "   nodes:");
	for (i = NODES_AT; i < SOURCE_AT; i++)
		if (end->memory[i - ORIGIN])
			fprintf(out, " 0x%02x -> 0x%02x", i, end->memory[i - ORIGIN]);
	fputc('\n', out);
}

/* Prints how states[index] was reached; returns the number of transitions. */
static int print_way(const struct scenario *scenario, uint32_t index, FILE *out)
{
	static uint32_t way[1000];
	int length = 0, i;

	for (; index && length < 1000; index = origins[index].parent)
		way[length++] = index;
	for (i = length - 1; out && i >= 0; i--) {
		const struct origin *from = &origins[way[i]];

		fprintf(out, "%4d. ", length - i);
		print_event(scenario, &states[from->parent], &states[way[i]], from->how, out);
	}
	return length;
}

/* ---- The search ---- */

/* Looks at an end; 1 if it is wrong. */
static int check_end(const struct scenario *scenario, uint32_t index, struct explored *result,
		     FILE *out)
{
	const struct state *end = &states[index];
	const struct history history = {scenario, end->memory, end->record};
	const char *wrong = oracle_check(&history);

	result->ends++;
	if (!wrong)
		return 0;
	result->wrong = 1;
	result->length = print_way(scenario, index, out);
	if (out) {
		fprintf(out, "   %s:\n", wrong);
		print_history(scenario, end, out);
	}
	return 1;
}

static int expand(const struct scenario *scenario, uint32_t index)
{
	unsigned event, thread;

	for (thread = ACTOR_A; thread <= ACTOR_B; thread += ACTOR_B)
		for (event = 0; event < EVENTS; event++) {
			if (!possible(scenario, &states[index], event, thread))
				continue;
			if (reserve() < 0)
				return -1;
			states[count] = states[index];
			happen(scenario, &states[count], event, thread);
			add(index, HOW(event, thread));
		}
	return 0;
}

struct explored explore(const struct scenario *scenario, FILE *out)
{
	struct explored result = {0, 0, 0, 0};
	uint32_t index;

	count = 0;
	if (table)
		memset(table, 0, table_size * sizeof(*table));
	if (reserve() < 0) {
		result.wrong = -1;
		return result;
	}
	first_state(scenario, &states[0]);
	add(0, 0);
	for (index = 0; index < count && !result.wrong; index++) {
		int over = finished(scenario, &states[index], ACTOR_A) &&
			   finished(scenario, &states[index], ACTOR_B);

		if (states[index].fault) {
			result.wrong = -1;
			print_way(scenario, index, out);
		} else if (over && check_end(scenario, index, &result, out)) {
			break;
		} else if (!over && expand(scenario, index) < 0) {
			result.wrong = -1;
		}
	}
	result.states = count;
	return result;
}
