// SPDX-License-Identifier: GPL-2.0-only
// An application on TypeORM: a schema that it makes, finds again without a difference, and migrates.
// Prints what it found as JSON.
require('reflect-metadata');
const { DataSource, EntitySchema } = require('typeorm');

const Author = new EntitySchema({
  name: 'Author',
  columns: {
    id: { type: 'int', primary: true, generated: true },
    name: { type: 'varchar', length: 80, unique: true },
    born: { type: 'date', nullable: true },
    at: { type: 'datetime', precision: 6, createDate: true },
  },
  relations: { books: { type: 'one-to-many', target: 'Book', inverseSide: 'author' } },
});
const Book = new EntitySchema({
  name: 'Book',
  columns: {
    id: { type: 'bigint', primary: true, generated: true },
    title: { type: 'varchar', length: 200 },
    price: { type: 'decimal', precision: 10, scale: 2, default: 0 },
    facts: { type: 'json', nullable: true },
    length: { type: 'int', generatedType: 'STORED', asExpression: 'char_length(`title`)', nullable: true },
  },
  relations: {
    author: { type: 'many-to-one', target: 'Author', inverseSide: 'books', onDelete: 'CASCADE' },
    tags: { type: 'many-to-many', target: 'Tag', joinTable: true, cascade: true },
  },
  indices: [{ name: 'words', columns: ['title'], fulltext: true }, { name: 'prices', columns: ['price', 'title'] }],
});
const Tag = new EntitySchema({
  name: 'Tag', columns: { name: { type: 'varchar', length: 30, primary: true } },
});

class AddShelf1700000000001 {
  async up(runner) {
    await runner.query('ALTER TABLE book ADD shelf VARCHAR(10) NOT NULL DEFAULT \'A\', ADD INDEX shelves (shelf)');
    await runner.query('CREATE TABLE shelf (name VARCHAR(10) PRIMARY KEY)');
  }
  async down(runner) {
    await runner.query('DROP TABLE shelf');
    await runner.query('ALTER TABLE book DROP COLUMN shelf');
  }
}

const source = new DataSource({
  type: 'mysql', host: '127.0.0.1', port: Number(process.env.APP_PORT), username: 'app', password: 'secret',
  database: process.env.APP_DATABASE, entities: [Author, Book, Tag], migrations: [AddShelf1700000000001],
});

(async () => {
  await source.initialize();
  await source.synchronize();
  const differences = (await source.driver.createSchemaBuilder().log()).upQueries.map((query) => query.query);
  const ran = (await source.runMigrations()).map((migration) => migration.name);
  const shelf = await source.query('SELECT COUNT(*) AS n FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = \'shelves\'');
  await source.undoLastMigration();

  const books = source.getRepository('Book');
  const author = await source.getRepository('Author').save({ name: 'Mary', born: '1797-08-30' });
  await books.save([1, 2, 3].map((n) => ({ title: `Volume ${n} of monsters`, price: n * 1.5, facts: { n }, author, tags: [{ name: 'old' }, { name: `v${n}` }] })));
  const twice = await source.getRepository('Author').insert({ name: 'MARY' }).catch((error) => error.code);
  const undone = await source.transaction('SERIALIZABLE', async (manager) => {
    await manager.createQueryBuilder().delete().from('Book').execute();
    throw new Error('undone');
  }).catch((error) => error.message);
  const found = await source.transaction((manager) => manager.getRepository('Book').createQueryBuilder('b').leftJoinAndSelect('b.tags', 't').where('b.price > :price', { price: 2 })
    .andWhere('MATCH (b.title) AGAINST (:word)', { word: 'monsters' }).orderBy('b.id').addOrderBy('t.name')
    .setLock('pessimistic_read').getMany());
  const lengths = (await books.find({ order: { id: 'ASC' } })).map((book) => book.length);
  await source.getRepository('Author').delete({ name: 'Mary' });
  console.log(JSON.stringify({ differences, ran, shelf: Number(shelf[0].n), twice, undone, lengths, left: await books.count(),
    found: found.map((book) => [book.title, book.price, book.facts.n, book.tags.map((tag) => tag.name)]) }));
  await source.destroy();
})();
