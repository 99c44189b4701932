/* A library that plugins ship beside them, in two versions under one name. */
int shipped_number(void);
int shipped_number(void) { return SHIPPED_NUMBER; }
