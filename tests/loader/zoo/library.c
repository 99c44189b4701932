/* A sound library that is no plugin; in two versions, what twins ship under one name. */
int shipped_number(void);
#ifndef SHIPPED_NUMBER
#define SHIPPED_NUMBER 0
#endif
int shipped_number(void) { return SHIPPED_NUMBER; }
