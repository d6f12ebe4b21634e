// SPDX-License-Identifier: GPL-2.0-only
// An application on Sequelize: tables made by it and changed by migrations, rows in associations.
// Prints what it found as JSON.
const { Sequelize, DataTypes, Op } = require('sequelize');

const db = new Sequelize(process.env.APP_DATABASE, 'app', 'secret', {
  host: '127.0.0.1', port: process.env.APP_PORT, dialect: 'mysql', logging: false,
});
const User = db.define('User', {
  name: { type: DataTypes.STRING(60), allowNull: false, unique: true },
  kind: DataTypes.ENUM('reader', 'writer'),
  balance: DataTypes.DECIMAL(12, 2),
  settings: DataTypes.JSON,
}, { version: true });
const Post = db.define('Post', { title: DataTypes.STRING, body: DataTypes.TEXT },
  { paranoid: true, indexes: [{ type: 'FULLTEXT', name: 'words', fields: ['title', 'body'] }] });
User.hasMany(Post, { foreignKey: { name: 'userId', allowNull: false }, onDelete: 'CASCADE' });
Post.belongsTo(User, { foreignKey: 'userId' });

async function migrate() {
  const changes = db.getQueryInterface();
  await changes.addColumn('Posts', 'score', { type: DataTypes.INTEGER, defaultValue: 7 });
  await changes.addIndex('Posts', ['score', 'userId'], { name: 'by_score' });
  await changes.changeColumn('Posts', 'score', { type: DataTypes.BIGINT, allowNull: false, defaultValue: 8 });
  await changes.renameColumn('Posts', 'score', 'points');
  await changes.addConstraint('Posts', { type: 'check', name: 'positive', fields: ['points'], where: { points: { [Op.gt]: 0 } } });
  return Object.keys(await changes.describeTable('Posts')).sort();
}

async function rows() {
  const user = await User.create({ name: 'Ada', kind: 'writer', balance: '12.50', settings: { theme: { dark: true } } });
  await user.createPost({ title: 'Engines', body: 'analytical engines weave patterns' });
  await Post.bulkCreate([1, 2, 3].map((n) => ({ title: `Note ${n}`, body: 'notes', userId: user.id })));
  const refused = await User.create({ name: 'ada' }).catch((error) => error.name);
  const orphan = await Post.create({ title: 'x', userId: 999 }).catch((error) => error.name);
  const rolledBack = await db.transaction(async (transaction) => {
    await User.create({ name: 'Gone' }, { transaction });
    throw new Error('rolled back');
  }).catch((error) => error.message);
  await db.transaction(async (transaction) => {
    const locked = await User.findOne({ where: { name: 'Ada' }, lock: transaction.LOCK.UPDATE, skipLocked: true, transaction });
    await locked.update({ balance: '99.95' }, { transaction });
  });
  const stale = await user.update({ kind: 'reader' }).catch((error) => error.name);
  return { refused, orphan, rolledBack, stale, users: await User.count() };
}

async function reads() {
  const [user] = await User.findAll({ where: { 'settings.theme.dark': true }, include: { model: Post, where: { title: { [Op.like]: 'Note%' } } }, order: [[Post, 'title', 'DESC']] });
  const found = await db.query("SELECT title FROM Posts WHERE MATCH (title, body) AGAINST ('weave')", { type: 'SELECT' });
  await Post.destroy({ where: { title: 'Note 1' } });
  const kept = [await Post.count(), await Post.count({ paranoid: false })];
  await User.destroy({ where: { name: 'Ada' } });
  return { balance: user.balance, titles: user.Posts.map((post) => post.title), found, kept, left: await Post.count({ paranoid: false }) };
}

(async () => {
  await db.sync();
  await db.sync({ alter: true });
  console.log(JSON.stringify({ ...(await rows()), ...(await reads()), columns: await migrate() }));
  await db.close();
})();
