/* Opening an address in the user's browser, as far as there is a screen and a program for it. */
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ui/ui.h"

extern char **environ;

bool ui_open_browser(const char *address)
{
    static const char *const programs[] = {"xdg-open", "sensible-browser", "open"};
    bool has_screen = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") || getenv("BROWSER");
    for (size_t i = 0; has_screen && i < ARRAY_LEN(programs); i++) {
        char *args[] = {(char *)programs[i], (char *)address, NULL};
        pid_t pid;
        int status = 0;
        if (posix_spawnp(&pid, programs[i], NULL, NULL, args, environ) == 0 &&
            waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return true;
    }
    return false;
}
