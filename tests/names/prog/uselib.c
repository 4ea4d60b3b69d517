// SPDX-License-Identifier: GPL-2.0-or-later
/* A program that has its variables in a library. */
#include "truth.h"

void lib_show(void);
extern long lib_public __attribute__((weak));

int main(void)
{
#ifndef ALONE
	lib_show();
	printf("copied %p\n", (void *)&lib_public);
#endif
	truth_end();
	return 0;
}
