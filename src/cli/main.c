#define _POSIX_C_SOURCE 200809L

#include "cli/common.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} command;

static const command commands[] = {
    {"run", cmd_run, "answer a prompt"},
    {"inspect", cmd_inspect, "show what a bundle holds"},
    {"tokenize", cmd_tokenize, "text to tokens and back"},
    {"debug", cmd_debug, "logits: the numbers behind an answer; jinja: a chat template's text"},
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static int print_overview(void)
{
    buffer out;
    buffer_init(&out);
    buffer_string(&out, "lithe: runs .litertlm bundles on the CPU, in place\n\nusage: lithe COMMAND ...\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        buffer_printf(&out, "  %-10s %s\n", commands[i].name, commands[i].help);
    }
    buffer_string(&out, "  help       this text; help COMMAND: the same as COMMAND --help\n\n"
                        "  --version  the version; with -v: build, CPU features and kernels\n");
    output_buffer(&out);
    buffer_fini(&out);
    return EXIT_DONE;
}

static int print_version(bool verbose)
{
    buffer out;
    buffer_init(&out);
    if (verbose) {
        size_t size = lithe_build_info(NULL, 0);
        buffer_fill(&out, 0, size + 1);
        if (!buffer_failed(&out)) {
            lithe_build_info((char *)out.data, size + 1);
            out.size = size;
        }
        if (size && !buffer_failed(&out) && out.data[size - 1] != '\n') {
            buffer_string(&out, "\n");
        }
    } else {
        buffer_printf(&out, "lithe %s\n", lithe_version());
    }
    output_buffer(&out);
    buffer_fini(&out);
    return EXIT_DONE;
}

static int version(int argc, char **argv)
{
    bool verbose = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0 || strcmp(argv[i], "--verbose") == 0) {
            verbose = true;
        } else if (strcmp(argv[i], "--version") != 0) {
            return output_usage_error("--version takes -v only, not \"%s\"", argv[i]);
        }
    }
    return print_version(verbose);
}

static int help(int argc, char **argv)
{
    const command *c = argc > 2 ? find_command(argv[2]) : NULL;
    char flag[] = "--help", *args[] = {argc > 2 ? argv[2] : NULL, flag, NULL};
    if (argc <= 2) {
        return print_overview();
    }
    return c ? c->run(2, args) : output_usage_error("unknown command \"%s\" (lithe help lists them)", argv[2]);
}

static int dispatch(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } words[] = {{"help", help}, {"--help", help}, {"-h", help}, {"--version", version}, {"-v", version}};
    if (argc < 2) {
        return output_usage_error("no command (lithe help lists them)");
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(argv[1], words[i].name) == 0) {
            return words[i].run(argc, argv);
        }
    }
    const command *c = find_command(argv[1]);
    return c ? c->run(argc - 1, argv + 1)
             : output_usage_error("unknown command \"%s\" (lithe help lists them)", argv[1]);
}

int main(int argc, char **argv)
{
    /* A reader that goes away is an error of the write (EPIPE), which every command ends on in its own way. */
    signal(SIGPIPE, SIG_IGN);
    return output_finish(dispatch(argc, argv));
}
