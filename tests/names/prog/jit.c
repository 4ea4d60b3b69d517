// SPDX-License-Identifier: GPL-2.0-or-later
/* Code that no file holds. */
#include <sys/mman.h>

#include "truth.h"

int main(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	printf("jit %p\n", code);
	truth_end();
	return 0;
}
