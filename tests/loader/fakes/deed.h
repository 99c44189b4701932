/* What a fake does to the process, chosen by the name of its file: init-abort.tenon.so aborts in
 * init. One build serves as many plugins. */
#ifndef TENON_TESTS_DEED_H
#define TENON_TESTS_DEED_H

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What stands behind "WHERE-" in the file's name; null where it begins in another way. */
static const char* deed_of(const char* where) {
  static const char here = 0;
  Dl_info info;
  const char* name;
  if (dladdr(&here, &info) == 0) return NULL;
  name = strrchr(info.dli_fname, '/');
  name = name == NULL ? info.dli_fname : name + 1;
  if (strncmp(name, where, strlen(where)) != 0 || name[strlen(where)] != '-') return NULL;
  return name + strlen(where) + 1;
}

static inline int is_deed(const char* where, const char* what) {
  const char* name = deed_of(where);
  return name != NULL && strncmp(name, what, strlen(what)) == 0;
}

static void* volatile deed_nowhere = 0;
static void* deed_of_thread(void* unused) {
  *(volatile int*)deed_nowhere = 1;
  return unused;
}

static void deed(const char* where) {
  const char* name = deed_of(where);
  if (name == NULL) return;
  if (strncmp(name, "abort", 5) == 0) abort();
  if (strncmp(name, "exit", 4) == 0) exit(0);
  if (strncmp(name, "quick", 5) == 0) _exit(0);
  if (strncmp(name, "raw", 3) == 0) syscall(SYS_exit_group, 0);
  if (strncmp(name, "trap", 4) == 0) raise(SIGILL);
  if (strncmp(name, "fault", 5) == 0) raise(SIGSEGV);
  if (strncmp(name, "kill", 4) == 0) raise(SIGKILL);
  if (strncmp(name, "pipe", 4) == 0) raise(SIGPIPE);
  if (strncmp(name, "term", 4) == 0) raise(SIGTERM);
  if (strncmp(name, "int", 3) == 0) raise(SIGINT);
  if (strncmp(name, "user", 4) == 0) raise(SIGUSR1);
  if (strncmp(name, "closes", 6) == 0) {
    for (int descriptor = 0; descriptor < 1024; ++descriptor) (void)close(descriptor);
  }
  if (strncmp(name, "umask", 5) == 0) (void)umask(0);
  if (strncmp(name, "blocks", 6) == 0) {
    sigset_t all;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
  }
  if (strncmp(name, "thread", 6) == 0) {
    pthread_t thread;
    (void)pthread_create(&thread, NULL, deed_of_thread, NULL);
    (void)pthread_join(thread, NULL);
  }
  if (strncmp(name, "address", 7) == 0) *(volatile int*)deed_nowhere = 1;
  if (strncmp(name, "away", 4) == 0) (void)!chdir("/");
  if (strncmp(name, "fork", 4) == 0) (void)!fork();
  if (strncmp(name, "traced", 6) == 0 && ptrace(PTRACE_TRACEME, 0, 0, 0) == 0) raise(SIGSEGV);
  if (strncmp(name, "print", 5) == 0) {
    static const char kText[] = "printed by a plugin\n";
    (void)!write(STDOUT_FILENO, kText, sizeof kText - 1);
    (void)printf("printed by a plugin, at the end\n");
  }
#ifdef __SSE__
  if (strncmp(name, "flush", 5) == 0)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); /* as -ffast-math does */
#endif
  if (strncmp(name, "leaves", 6) == 0) pthread_exit(NULL);
  if (strncmp(name, "hang", 4) == 0) {
    for (;;) pause();
  }
}

__attribute__((constructor)) static void deed_of_constructor(void) { deed("constructor"); }

#endif
