/* Continues a text: hello MODEL.litertlm [TEXT] */
#include <lithe.h>
#include <stdio.h>
#include <string.h>

static bool print_token(void *user, const lithe_token_event *event)
{
    (void)user;
    return fwrite(event->text, 1, event->text_bytes, stdout) == event->text_bytes && fflush(stdout) == 0;
}

int main(int argc, char **argv)
{
    const char *text = argc > 2 ? argv[2] : "The capital of France is";
    lithe_generate_options options;
    lithe_model *model = NULL;
    lithe_session *session = NULL;
    lithe_error err;
    int32_t ids[1024];
    size_t n = 0;

    lithe_generate_options_init(&options);
    options.max_tokens = 32;
    options.on_token = print_token;
    bool ok = argc > 1 && lithe_model_open(argv[1], NULL, &model, &err) == LITHE_OK &&
              lithe_tokenize(model, text, strlen(text), LITHE_TOKENIZE_START, ids, 1024, &n, &err) == LITHE_OK &&
              n <= 1024 && lithe_session_create(model, NULL, &session, &err) == LITHE_OK &&
              lithe_session_prefill(session, ids, n, NULL, NULL, &err) == LITHE_OK &&
              lithe_session_generate(session, &options, NULL, &err) == LITHE_OK;
    if (!ok) {
        fprintf(stderr, "hello: %s\n",
                argc > 1 && n <= 1024 ? err.message : "give a model and at most 1024 tokens of text");
    }
    lithe_session_destroy(session);
    lithe_model_close(model);
    return ok ? 0 : 1;
}
