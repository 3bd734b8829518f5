/* SPDX-License-Identifier: MIT */
/* A program without the library, to compare starts with. */
int main(void)
{
	return 0;
}
