/* The program: one main, one table of commands, one file per command or family of commands. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/err.h"
#include "base/exit_code.h"
#include "base/opt.h"

extern const struct command cmd_operator;
extern const struct command cmd_up, cmd_down, cmd_list, cmd_demo, cmd_initc, cmd_sim, cmd_version,
    cmd_manifests;
extern const struct command cmd_nodes, cmd_scheduler;
extern const struct command cmd_apply, cmd_get, cmd_delete, cmd_scale, cmd_tree, cmd_status,
    cmd_explain, cmd_why, cmd_fit, cmd_wait, cmd_rollout, cmd_plan, cmd_metrics, cmd_token, cmd_ui,
    cmd_fleet;

/* "grove: message" on stderr; returns the exit code that fits. */
int cli_fail(const struct err *err);
/* TYPE/NAME, and another word after it. */
void cli_one_too_many(const struct command_call *call, struct err *err);

#endif
