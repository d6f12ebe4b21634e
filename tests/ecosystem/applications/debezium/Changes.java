// SPDX-License-Identifier: GPL-2.0-only
// Debezium within a program: tables as they are, then what is done to them, as lines of JSON.

import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.util.Properties;
import java.util.concurrent.Executors;

public class Changes {
  public static void main(String[] arguments) throws Exception {
    Properties settings = new Properties();
    String folder = arguments[0];
    String database = System.getenv("APP_DATABASE");
    String[][] fields = {
      {"name", "changes"}, {"connector.class", "io.debezium.connector.mysql.MySqlConnector"},
      {"offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore"},
      {"offset.storage.file.filename", folder + "/offsets"}, {"offset.flush.interval.ms", "100"},
      {"schema.history.internal", "io.debezium.storage.file.history.FileSchemaHistory"},
      {"schema.history.internal.file.filename", folder + "/history"}, {"topic.prefix", "changes"},
      {"database.hostname", "127.0.0.1"}, {"database.port", System.getenv("APP_PORT")},
      {"database.user", "app"}, {"database.password", "secret"}, {"database.server.id", "4711"},
      {"database.include.list", database}, {"snapshot.mode", "initial"},
      {"snapshot.locking.mode", "minimal"}, {"include.schema.changes", "false"},
      {"converter.schemas.enable", "false"}, {"decimal.handling.mode", "string"},
      {"tombstones.on.delete", "false"},
      // A busy machine takes longer than 3 minutes to start.
      {"internal.task.management.timeout.ms", "3600000"},
    };
    for (String[] field : fields) {
      settings.setProperty(field[0], field[1]);
    }
    var executor = Executors.newSingleThreadExecutor();
    DebeziumEngine<?> engine = DebeziumEngine.create(Json.class).using(settings)
        .using((success, message, error) -> {
          if (!success) {
            System.err.println(message);
            System.exit(1);
          }
        })
        .notifying(record -> {
          System.out.println(record.value());
          System.out.flush();
        }).build();
    executor.execute(engine);
    System.in.read();  // until whoever started it is content
    engine.close();
    executor.shutdown();
  }
}
