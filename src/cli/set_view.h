/*
 * Commands that show something about sets: a picture of the namespace becomes a document by a pure
 * function, and the document is printed as text, JSON or YAML, once or whenever it changes. So what
 * a person reads and what a program reads cannot disagree.
 */
#ifndef CLI_SET_VIEW_H
#define CLI_SET_VIEW_H

#include "cli/cli.h"
#include "cli/print.h"
#include "explain/documents/paint.h"
#include "explain/documents/picture.h"

struct view_args {
    struct session_opts session;
    int output;
    bool watch;
    bool all_namespaces;
};
extern const struct opt view_options[];      /* with --watch */
extern const struct opt view_options_all[];  /* and --all-namespaces */
extern const struct opt view_options_once[]; /* with neither */
#define VIEW_CONNECTION \
    OPT_GROUP("Connection", session_options, offsetof(struct view_args, session))

/* What is asked about. */
struct view_target {
    const struct kind *kind;
    str name;         /* empty: all sets */
    const void *opts; /* of the command, where the view asks for more; may be NULL */
};

struct view {
    unsigned mask;     /* parts of the picture it needs */
    unsigned optional; /* and uses when it may read them */
    /* NULL with err when the target does not exist. The picture outlives the call only as long as
     * the arena does. */
    struct doc *(*build)(const struct picture *p, const struct view_target *t, struct arena *a,
                         struct err *err);
    void (*write)(jval doc, bool wide, struct arena *a, struct strbuf *out);
    /* The exit code that the document means; NULL: always 0. */
    int (*answer)(jval doc);
    /* Its texts are of several lines. */
    bool has_lines;
    /* Watching ends with this document; NULL: it does not end. */
    bool (*over)(jval doc);
};

/* A kind as a user says it. One that older documents have is told what it is called today. */
const struct kind *view_read_kind(str type, struct err *err);
/* For an err that says that the object was not found: adds what it is called today, if `name` is
 * what older documents call something of one of these sets. */
void view_hint(const struct session_list *sets, const struct kind *k, str name, struct err *err);
/* KIND/NAME, KIND NAME or NAME of the default kind. */
int view_read_target(const struct command_call *call, const struct kind *preset,
                     struct view_target *ret, struct err *err);
/* The whole command; an exit code. Of all namespaces it is one document for each that has sets:
 * what is said about a picture is about one namespace. */
int view_run(const struct view *v, const struct view_args *a, const struct view_target *t);

/* A document once, as the arguments say. */
void view_print(jval doc, const struct view_args *args,
                void (*write)(jval doc, bool wide, struct arena *a, struct strbuf *out),
                struct arena *a);

/* The sets a target means: one or all; an error when the one is not there. */
int view_sets(const struct picture *p, const struct view_target *t, struct session_list *ret,
              struct arena *a, struct err *err);
/* The object of a set that a target names, one of its parts or itself; NULL when it is not there.
 */
const struct obj *view_find(const struct picture *p, const struct view_target *t);
/* ERR_USAGE when the kind is none that sets have. */
int view_check_kind(const struct view_target *t, const char *command, struct err *err);
/* "podcliquesets.grove.io "x" not found", as a server says it, and what of that name there is. */
int view_not_found(const struct picture *p, const struct view_target *t, struct err *err);

#endif
