/*
 * recorder: reports what happened to an object as core/v1 Events. Best effort: an event never
 * delays a key and a failed one is forgotten, warnings after a few more tries.
 *
 * The name of an Event is a function of what it says (object, type, reason, message), so saying it
 * again, also after a restart, raises the count of the one that is there instead of making another.
 * Within one minute repetitions are only counted; the next one after that carries them all. One
 * object may cause 25 writes at once and one more every three seconds, whatever its events say, and
 * as many for warnings: an update of a thousand steps is told whole when it takes an hour, and who
 * talks without end is held to a rate.
 *
 * While a recorder holds, new events are kept, the latest few thousand of them, and sent when it is
 * released.
 */
#ifndef CLIENT_EVENT_H
#define CLIENT_EVENT_H

#include "client/api.h"
#include "loop/loop.h"

struct recorder;

/* component: who reports; must live as long as the recorder and its requests. */
struct recorder *recorder_new(struct loop *l, struct api *api, const char *component);
/* Requests under way end by themselves. */
void recorder_free(struct recorder *r);
void recorder_event(struct recorder *r, const struct obj *about, bool warning, str reason,
                    str message);
void recorder_hold(struct recorder *r, bool on);
/* Sends what was held. Cheap when nothing was. */
void recorder_release(struct recorder *r);
/* Requests under way, and events held or to be tried again. */
size_t recorder_in_flight(const struct recorder *r);

#endif
