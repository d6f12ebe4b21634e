// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/key_range_tree.h"

#include "base/assertions.h"

namespace rowan {
namespace {

bool CheckBelow(const KeyRange* node) {
  if (node == nullptr) return true;
  const KeyRange* furthest = node;
  for (const KeyRange* child : {node->left, node->right}) {
    if (child == nullptr) continue;
    if (child->parent != node || child->priority > node->priority) return false;
    if (EndsSooner(*furthest, *child->furthest)) furthest = child->furthest;
  }
  if (node->left != nullptr && node->left->low > node->low) return false;
  if (node->right != nullptr && node->right->low < node->low) return false;
  const bool reach =
      !EndsSooner(*furthest, *node->furthest) && !EndsSooner(*node->furthest, *furthest);
  return reach && CheckBelow(node->left) && CheckBelow(node->right);
}

}  // namespace

KeyRange** KeyRangeTree::LinkTo(KeyRange* node) {
  if (node->parent == nullptr) return &root_;
  return node->parent->left == node ? &node->parent->left : &node->parent->right;
}

void KeyRangeTree::FindFurthest(KeyRange* node) {
  node->furthest = node;
  for (const KeyRange* child : {node->left, node->right}) {
    if (child != nullptr && EndsSooner(*node->furthest, *child->furthest)) {
      node->furthest = child->furthest;
    }
  }
}

void KeyRangeTree::RotateUp(KeyRange* node) {
  KeyRange* parent = node->parent;
  ROWAN_DCHECK(parent != nullptr && (parent->left == node || parent->right == node));
  *LinkTo(parent) = node;
  node->parent = parent->parent;
  parent->parent = node;
  KeyRange** inner = parent->left == node ? &node->right : &node->left;
  (parent->left == node ? parent->left : parent->right) = *inner;
  if (*inner != nullptr) (*inner)->parent = parent;
  *inner = parent;
  FindFurthest(parent);
  FindFurthest(node);
}

void KeyRangeTree::Insert(KeyRange* range) {
  ROWAN_DCHECK(range->unbounded || range->low <= range->high);
  // xorshift: any spread will do, as priorities cannot be chosen from outside.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  range->priority = random_;
  range->left = range->right = range->parent = nullptr;
  range->furthest = range;
  KeyRange** link = &root_;
  while (*link != nullptr) {
    range->parent = *link;
    link = range->low < (*link)->low ? &(*link)->left : &(*link)->right;
  }
  *link = range;
  ++size_;
  EndMoved(range);
  while (range->parent != nullptr && range->parent->priority < range->priority) RotateUp(range);
}

void KeyRangeTree::Remove(KeyRange* range) {
  while (range->left != nullptr || range->right != nullptr) {
    const bool left = range->right == nullptr ||
                      (range->left != nullptr && range->left->priority > range->right->priority);
    RotateUp(left ? range->left : range->right);
  }
  ROWAN_DCHECK(size_ != 0 && *LinkTo(range) == range);
  *LinkTo(range) = nullptr;
  for (KeyRange* above = range->parent; above != nullptr; above = above->parent) {
    FindFurthest(above);
  }
  range->parent = nullptr;
  --size_;
}

void KeyRangeTree::EndMoved(KeyRange* range) {
  // If another range reaches further, it also does in all nodes above.
  for (KeyRange* above = range; above != nullptr; above = above->parent) {
    if (above->furthest == range) continue;
    if (!EndsSooner(*above->furthest, *range)) return;
    above->furthest = range;
  }
}

bool KeyRangeTree::Check() const { return CheckBelow(root_); }

}  // namespace rowan
