/* What the program's commands end with. */
#ifndef BASE_EXIT_CODE_H
#define BASE_EXIT_CODE_H

enum exit_code {
    EXIT_OK = 0,
    EXIT_NO = 1,    /* the answer is no, or the request failed */
    EXIT_USAGE = 2, /* wrong command line */
    EXIT_STUCK = 3, /* plan: it would not come to an end */
};

#endif
