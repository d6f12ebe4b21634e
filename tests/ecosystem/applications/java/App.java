// SPDX-License-Identifier: GPL-2.0-only
// An application whose tables Flyway and Liquibase make and Hibernate uses. Prints what it found.

import jakarta.persistence.*;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.time.LocalDateTime;
import java.util.*;
import liquibase.Liquibase;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.DirectoryResourceAccessor;
import org.flywaydb.core.Flyway;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

public class App {
  @Entity(name = "Customer") @Table(name = "customer")
  public static class Customer {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
    @Column(length = 80, nullable = false) String name;
    @Version int version;
    @OneToMany(mappedBy = "customer", cascade = CascadeType.ALL) List<Purchase> purchases = new ArrayList<>();
  }

  @Entity(name = "Purchase") @Table(name = "purchase")
  public static class Purchase {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
    @ManyToOne(optional = false) @JoinColumn(name = "customer_id") Customer customer;
    @Column(precision = 12, scale = 2, nullable = false) BigDecimal total;
    @Column(nullable = false) LocalDateTime at = LocalDateTime.of(2026, 1, 2, 3, 4, 5, 678_000);
    @Column(length = 100) String note;
  }

  /// Made by Hibernate itself, with a table that stands for a sequence.
  @Entity(name = "Event") @Table(name = "event", indexes = @Index(columnList = "kind, at"))
  public static class Event {
    @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Long id;
    @Enumerated(EnumType.STRING) Kind kind = Kind.OPENED;
    LocalDateTime at = LocalDateTime.of(2026, 1, 1, 0, 0);
    @Lob String text = "long".repeat(5000);
  }
  enum Kind { OPENED, CLOSED }

  static final String URL = "jdbc:mysql://127.0.0.1:" + System.getenv("APP_PORT") + "/" + System.getenv("APP_DATABASE")
      + "?allowPublicKeyRetrieval=true&useSSL=false";

  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    java.util.logging.LogManager.getLogManager().reset();
    flyway(folder);
    liquibase(folder);
    try (SessionFactory sessions = sessions()) {
      hibernate(sessions);
    }
  }

  static void say(String what, Object value) { System.out.println("app: " + what + ": " + value); }

  static void flyway(Path folder) {
    Flyway flyway = Flyway.configure().dataSource(URL, "app", "secret").baselineOnMigrate(true).baselineVersion("0")
        .locations("filesystem:" + folder.resolve("flyway")).load();
    say("flyway", flyway.migrate().migrationsExecuted + ", then " + flyway.migrate().migrationsExecuted);
    flyway.validate();
  }

  static void liquibase(Path folder) throws Exception {
    try (var connection = DriverManager.getConnection(URL, "app", "secret");
         var files = new DirectoryResourceAccessor(folder.resolve("liquibase"))) {
      var database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
      Liquibase liquibase = new Liquibase("changelog.xml", files, database);
      liquibase.update("");
      liquibase.rollback(1, "");
      liquibase.update("");
      say("liquibase left", liquibase.listUnrunChangeSets(null, null).size());
    }
  }

  static SessionFactory sessions() {
    return new Configuration().addAnnotatedClass(Customer.class).addAnnotatedClass(Purchase.class).addAnnotatedClass(Event.class)
        .setProperty("hibernate.connection.url", URL).setProperty("hibernate.connection.username", "app")
        .setProperty("hibernate.connection.password", "secret").setProperty("hibernate.hbm2ddl.auto", "update")
        .setProperty("hibernate.jdbc.batch_size", "20").buildSessionFactory();
  }

  static void hibernate(SessionFactory sessions) {
    sessions.getSchemaManager().validateMappedObjects();
    Long id = sessions.fromTransaction(session -> {
      Customer customer = new Customer();
      customer.name = "Ada";
      for (int i = 1; i <= 3; ++i) {
        Purchase purchase = new Purchase();
        purchase.customer = customer;
        purchase.total = new BigDecimal(i * 75);
        customer.purchases.add(purchase);
      }
      session.persist(customer);
      for (int i = 0; i < 120; ++i) session.persist(new Event());
      return customer.id;
    });
    say("stale", refused(() -> sessions.inTransaction(outer -> {
      Customer seen = outer.find(Customer.class, id);
      sessions.inTransaction(inner -> inner.find(Customer.class, id, LockModeType.PESSIMISTIC_WRITE).name = "Ada L.");
      seen.name = "lost";
    })));
    say("twice", refused(() -> sessions.inTransaction(session -> {
      Customer again = new Customer();
      again.name = "ADA L.";
      session.persist(again);
    })));
    sessions.inSession(session -> {
      say("totals", session.createQuery("select p.total from Purchase p where p.at > :at and p.customer.name like 'Ada%' order by p.total desc",
          BigDecimal.class).setParameter("at", LocalDateTime.of(2026, 1, 1, 0, 0)).getResultList());
      say("events", session.createQuery("select count(distinct e.id), max(length(e.text)) from Event e where e.kind = :kind", Object[].class)
          .setParameter("kind", Kind.OPENED).stream().map(Arrays::toString).toList());
      say("big", session.createNativeQuery("SELECT COUNT(*) FROM big", Long.class).getSingleResult());
      say("stock", session.createNativeQuery("SELECT CONCAT(article, ' ', pieces, ' ', place) FROM stock", String.class).getResultList());
    });
    sessions.inTransaction(session -> session.remove(session.find(Customer.class, id)));
    sessions.inSession(session -> say("left", session.createQuery("select count(p) from Purchase p", Long.class).getSingleResult()));
  }

  static String refused(Runnable work) {
    try {
      work.run();
      return "not refused";
    } catch (RuntimeException error) {
      return error.getClass().getSimpleName();
    }
  }
}
