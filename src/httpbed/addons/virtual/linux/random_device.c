// SPDX-License-Identifier: Apache-2.0
/*
 * std::random_device of GNU's C++ library, from the kernel's randomness.
 *
 * The library's own functions take random numbers from the instructions RDSEED and RDRAND, which the
 * kernel of a guest can neither trap nor seed. Loaded before the library (LD_PRELOAD), the functions
 * here take their place. They call no other library, so that any program can load them.
 */

#define GETRANDOM 318 /* the number of the system call on x86-64 */

#define METHOD(name) __asm__("_ZNSt13random_device" name)

/* _M_init(const std::string &token), by both layouts that a string can have */
void init(void *device, const void *token) METHOD("7_M_initERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
void init_old(void *device, const void *token) METHOD("7_M_initERKSs");
void fini(void *device) METHOD("7_M_finiEv");
unsigned int getval(void *device) METHOD("9_M_getvalEv");
double getentropy(const void *device) __asm__("_ZNKSt13random_device13_M_getentropyEv");

void init(void *device, const void *token)
{
	(void)device;
	(void)token;
}

void init_old(void *device, const void *token)
{
	init(device, token);
}

void fini(void *device)
{
	(void)device;
}

/* The kernel never interrupts a request for so few bytes, and has its seed since the boot. */
unsigned int getval(void *device)
{
	unsigned int value = 0;
	long done = GETRANDOM;

	(void)device;
	__asm__ volatile("syscall"
			 : "+a"(done)
			 : "D"(&value), "S"(sizeof(value)), "d"(0)
			 : "rcx", "r11", "memory");
	return value;
}

double getentropy(const void *device)
{
	(void)device;
	return 8 * sizeof(unsigned int);
}
