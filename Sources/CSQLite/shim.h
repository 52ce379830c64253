// SQLite's C interface, as installed by the system.
#include <sqlite3.h>
