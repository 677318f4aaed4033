#include "cli/common.h"

static const char *const plan_choices[] = {"auto", "any", "exported", "unified", NULL};
static const char *const log_choices[] = {"error", "warning", "info", "debug", NULL};

/* clang-format off */
static const option model_rows[] = {
    {.name = "threads", .kind = OPTION_U32, .offset = offsetof(common_options, threads), .min = 1, .max = 256,
     .value = "N", .help = "threads that compute (default: one per core, at most 8)"},
    {.name = "context", .kind = OPTION_U32, .offset = offsetof(common_options, context), .min = 1, .value = "N",
     .help = "positions of the context (default: the bundle's)"},
    {.name = "memory-limit", .kind = OPTION_U64, .offset = offsetof(common_options, memory_limit_mb), .min = 1,
     .max = 1e12, .value = "MB", .help = "refuse what would need more private memory than this"},
    {.name = "cpu", .kind = OPTION_TEXT, .offset = offsetof(common_options, cpu), .value = "LEVEL",
     .help = "use no more than c, avx2, avxvnni, avx512vnni, neon, dotprod, i8mm"},
    {.name = "plan", .kind = OPTION_CHOICE, .offset = offsetof(common_options, plan), .choices = plan_choices,
     .value = "KIND", .help = "any: decode for any length; unified: prefill for any length; exported: as in the file; auto"},
    {.name = "no-fusion", .kind = OPTION_FLAG, .offset = offsetof(common_options, no_fusion),
     .help = "run without the fusing passes"},
    {.name = "without", .kind = OPTION_TEXT, .offset = offsetof(common_options, without), .value = "PASS",
     .help = "run without one pass of the graph compiler (inspect --after list)"},
    {.name = "check-numerics", .kind = OPTION_FLAG, .offset = offsetof(common_options, check_numerics),
     .help = "name the first node that gives NaN or an infinity (slow)"},
};

static const option message_rows[] = {
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = offsetof(common_options, quiet),
     .help = "no warnings, no progress"},
    {.name = "log", .kind = OPTION_CHOICE, .offset = offsetof(common_options, log), .choices = log_choices,
     .value = "LEVEL", .help = "messages wanted: error, warning (default), info, debug"},
    {.name = "help", .letter = 'h', .kind = OPTION_FLAG, .offset = offsetof(common_options, help), .help = "this text"},
};
/* clang-format on */

void common_options_init(common_options *o)
{
    *o = (common_options){.log = LITHE_LOG_WARNING};
}

option_group common_model_group(common_options *o)
{
    return (option_group){
        .title = "model", .rows = model_rows, .n_rows = sizeof model_rows / sizeof *model_rows, .values = o};
}

option_group common_message_group(common_options *o)
{
    return (option_group){
        .title = "messages", .rows = message_rows, .n_rows = sizeof message_rows / sizeof *message_rows, .values = o};
}

void common_apply_log(const common_options *o)
{
    output_set_log(o->quiet && o->log == LITHE_LOG_WARNING ? LITHE_LOG_ERROR : (lithe_log_level)o->log);
}

lithe_status common_open(const common_options *o, const char *path, lithe_model **model, lithe_error *err)
{
    lithe_model_options options;
    lithe_status status = o->cpu ? lithe_set_cpu(o->cpu, err) : LITHE_OK;
    if (status) {
        return status;
    }
    lithe_model_options_init(&options);
    options.n_threads = o->threads;
    options.context = o->context;
    options.memory_limit = o->memory_limit_mb << 20;
    options.plan = (lithe_plan_kind)o->plan;
    options.no_fusion = o->no_fusion;
    options.without_pass = o->without;
    options.check_numerics = o->check_numerics;
    return lithe_model_open(path, &options, model, err);
}
