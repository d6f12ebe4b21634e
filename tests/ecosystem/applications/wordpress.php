<?php
// SPDX-License-Identifier: GPL-2.0-only
// WordPress, installed and used as its pages and its REST interface do. Prints what it found as JSON.
define('DB_NAME', getenv('APP_DATABASE'));
define('DB_USER', 'app');
define('DB_PASSWORD', 'secret');
define('DB_HOST', '127.0.0.1:' . getenv('APP_PORT'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('ABSPATH', $argv[1] . '/');
define('WP_SITEURL', 'http://localhost');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('WP_INSTALLING', $argv[2] === 'install');
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $kind) {
    define("{$kind}_KEY", $kind);
    define("{$kind}_SALT", $kind);
}
$table_prefix = 'wp_';
$_SERVER += ['HTTP_HOST' => 'localhost', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REQUEST_URI' => '/'];
require ABSPATH . 'wp-settings.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
add_filter('pre_wp_mail', '__return_true');

function install() {
    $made = wp_install('Notes', 'ada', 'ada@localhost.test', true, '', 'secret');
    return ['user' => $made['user_id'], 'again' => dbDelta('all', false)];
}

function call($method, $route, $fields = []) {
    $request = new WP_REST_Request($method, '/wp/v2' . $route);
    $method === 'GET' ? $request->set_query_params($fields) : $request->set_body_params($fields);
    $response = rest_do_request($request);
    if ($response->is_error()) {
        throw new Exception("$method $route: " . json_encode($response->get_data()));
    }
    return $response->get_data();
}

function titles($found) {
    return array_map(fn ($post) => $post['title']['rendered'], $found);
}

function write() {
    wp_set_current_user(1);
    $topic = call('POST', '/categories', ['name' => 'Engines']);
    $tags = array_map(fn ($name) => call('POST', '/tags', ['name' => $name])['id'], ['old', 'näw']);
    $posts = [];
    foreach (range(1, 30) as $n) {
        $posts[] = call('POST', '/posts', [
            'title' => "Note $n", 'content' => 'about ' . ($n % 3 ? 'looms' : 'gears and 🜚'), 'status' => 'publish',
            'date' => sprintf('2026-01-%02dT10:00:00', $n), 'categories' => [$topic['id']], 'tags' => [$tags[$n % 2]],
        ])['id'];
    }
    $page = call('POST', '/pages', ['title' => 'Contact', 'content' => 'first', 'status' => 'publish']);
    foreach (['second', 'third'] as $content) {
        call('POST', "/pages/{$page['id']}", ['content' => $content]);
    }
    foreach (range(1, 3) as $n) {
        call('POST', '/comments', ['post' => $posts[0], 'content' => "remark $n"]);
    }
    call('POST', '/users', ['username' => 'grace', 'email' => 'grace@localhost.test', 'password' => 'x', 'roles' => ['editor']]);
    call('DELETE', "/posts/{$posts[1]}");
    call('DELETE', "/posts/{$posts[2]}", ['force' => true]);
    return ['revisions' => count(call('GET', "/pages/{$page['id']}/revisions"))];
}

function read() {
    wp_set_current_user(1);
    global $wpdb;
    $tag = call('GET', '/tags', ['slug' => sanitize_title('näw')])[0];
    $first = call('GET', '/posts', ['search' => 'Note 1', 'orderby' => 'date', 'order' => 'asc', 'per_page' => 4]);
    $page = call('GET', '/pages', ['search' => 'third'])[0];
    $meta = update_post_meta($page['id'], 'facts', ['sizes' => [1, 2.5], 'name' => 'Bäbbage']);
    return [
        'first' => titles($first), 'tagged' => $tag['count'], 'remarks' => get_comment_count($first[0]['id'])['approved'],
        'gears' => titles(call('GET', '/posts', ['search' => '🜚', 'per_page' => 3])),
        'page' => trim(strip_tags($page['content']['rendered'])), 'meta' => $meta > 0 ? get_post_meta($page['id'], 'facts', true) : null,
        'statuses' => array_filter((array) wp_count_posts()), 'months' => array_map('intval', $wpdb->get_col(
            "SELECT COUNT(*) FROM $wpdb->posts WHERE post_type = 'post' AND post_date < '2026-02-01' GROUP BY YEAR(post_date), MONTH(post_date)")),
        'found' => (new WP_Query(['category_name' => 'engines', 'posts_per_page' => 5, 'paged' => 2, 'no_found_rows' => false]))->found_posts,
        'login' => wp_authenticate('grace', 'x') instanceof WP_User, 'errors' => $wpdb->last_error,
    ];
}

echo json_encode($argv[2](), JSON_UNESCAPED_UNICODE), "\n";
