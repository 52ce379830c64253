// Apache Kafka's C client and its in-process mock cluster.
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
