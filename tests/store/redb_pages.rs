//! The pages of redb's file format, to change them and to give them the checksums that belong to them.

use std::ops::Range;

use twox_hash::XxHash3_128;

const LEAF: u8 = 1;
const BRANCH: u8 = 2;
/// Number of pages that are sealed. With wrong numbers of children, a tree can be endless.
const MAX_SEALED: u32 = 2000;

/// A file, in which the tree of the user's tables is changed.
pub(crate) struct RedbPages {
    pub(crate) bytes: Vec<u8>,
    left: u32,
}

/// A tree: the place of its root, which is a page number and a checksum, and the fixed widths of its rows.
#[derive(Copy, Clone)]
struct Tree {
    root: usize,
    key: Option<usize>,
    value: Option<usize>,
    has_tables: bool,
}

/// A page and what is in it, as places in the file.
struct Page {
    start: usize,
    room: usize,
    /// End of the bytes of which the checksum is taken.
    end: usize,
    kind: u8,
    count: usize,
}

impl RedbPages {
    pub(crate) fn new(bytes: Vec<u8>) -> RedbPages {
        RedbPages { bytes, left: 0 }
    }

    fn number(&self, at: usize, len: usize) -> usize {
        let bytes = self.bytes.get(at..at + len).unwrap_or_default();
        bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    fn put(&mut self, at: usize, number: u128, len: usize) {
        if let Some(bytes) = self.bytes.get_mut(at..at + len) {
            bytes.copy_from_slice(&number.to_le_bytes()[..len]);
        }
    }

    /// The place of the commit slot.
    fn slot(&self) -> usize {
        64 + 128 * usize::from(self.bytes[9] & 1)
    }

    fn tables(&self) -> Tree {
        Tree { root: self.slot() + 8, key: None, value: None, has_tables: true }
    }

    /// The place and the length of a page; `None` if it is not in the file.
    fn place(&self, page: usize) -> Option<Range<usize>> {
        let [size, header, data] = [12, 16, 20].map(|at| self.number(at, 4));
        let order = page >> 59;
        let index = page & (0xf_ffff >> order.min(20));
        let len = size.checked_shl(order as u32)?.min(1 << 32);
        let start = size + (page >> 20 & 0xf_ffff) * (header + data) * size + header * size;
        let start = start.checked_add(index.checked_mul(len)?)?;
        (start + len <= self.bytes.len()).then_some(start..start + len)
    }

    fn page(&self, number: usize, tree: Tree) -> Option<Page> {
        let Range { start, end: room } = self.place(number)?;
        let (kind, count) = (self.bytes[start], self.number(start + 2, 2));
        let list = |width: Option<usize>| if width.is_none() { 4 * count } else { 0 };
        let all = |width: Option<usize>| width.unwrap_or(0) * count;
        let offsets = match kind {
            LEAF => 4 + list(tree.key) + list(tree.value),
            BRANCH => 8 + 24 * (count + 1) + list(tree.key),
            _ => return None,
        };
        let (is_listed, fixed) = match kind {
            LEAF if tree.value.is_none() => (true, 0),
            LEAF => (tree.key.is_none(), all(tree.key) + all(tree.value)),
            _ => (tree.key.is_none(), all(tree.key)),
        };
        let listed = if is_listed { self.number(start + offsets - 4, 4) } else { offsets };
        let end = start + listed + fixed;
        (count > 0 && end <= room).then_some(Page { start, room, end, kind, count })
    }

    /// The trees of the tables in a leaf of the tree of tables.
    fn trees_in(&self, leaf: &Page) -> Vec<Tree> {
        let end_of = |nth: usize| leaf.start + self.number(leaf.start + 4 + 4 * nth, 4);
        let values = (0..leaf.count).map(|nth| end_of(leaf.count + nth - 1));
        let width = |at: usize| (self.number(at, 1) == 1).then(|| self.number(at + 1, 4));
        let tree = |value: usize| Tree {
            root: value + 10,
            key: width(value + 42),
            value: width(value + 47),
            has_tables: false,
        };
        values.filter(|value| self.number(value + 9, 1) == 1).map(tree).collect()
    }

    /// The trees below a page.
    fn children(&self, page: &Page, tree: Tree) -> Vec<(usize, usize, Tree)> {
        match page.kind {
            LEAF if tree.has_tables => {
                let trees = self.trees_in(page).into_iter();
                trees.map(|tree| (tree.root, tree.root + 8, tree)).collect()
            }
            LEAF => Vec::new(),
            _ => {
                let numbers = page.start + 8 + 16 * (page.count + 1);
                let child = |nth| (numbers + 8 * nth, page.start + 8 + 16 * nth, tree);
                (0..=page.count).map(child).collect()
            }
        }
    }

    /// The places of all page numbers, and the pages to which they lead.
    fn all(&self) -> (Vec<usize>, Vec<Page>) {
        let (mut numbers, mut pages) = (Vec::new(), Vec::new());
        let mut waiting = vec![(self.tables().root, self.tables())];
        while let Some((number, tree)) = waiting.pop() {
            numbers.push(number);
            let page = self.page(self.number(number, 8), tree).unwrap();
            let children = self.children(&page, tree).into_iter();
            waiting.extend(children.map(|(number, _, tree)| (number, tree)));
            pages.push(page);
        }
        (numbers, pages)
    }

    /// Changes the pages of a sound file, and says how. `next` gives numbers below a number.
    pub(crate) fn lie(&mut self, next: &mut dyn FnMut(usize) -> usize) -> String {
        let (numbers, pages) = self.all();
        let page = &pages[next(pages.len())];
        let (one, other) = (numbers[next(numbers.len())], numbers[next(numbers.len())]);
        let (start, count) = (page.start, page.count);
        match next(9) {
            0 => {
                let number = self.number(other, 8);
                self.put(one, number as u128, 8);
                format!("the page number at {one} is that at {other}")
            }
            1 => {
                let numbers = [self.number(one, 8), self.number(other, 8)];
                self.put(one, numbers[1] as u128, 8);
                self.put(other, numbers[0] as u128, 8);
                format!("the page numbers at {one} and {other} are exchanged")
            }
            2 => {
                let bit = next(64);
                self.bytes[one + bit / 8] ^= 1 << (bit % 8);
                format!("bit {bit} of the page number at {one}")
            }
            3 => {
                let number = next(400) | next(6) << 59;
                self.put(one, number as u128, 8);
                format!("the page number at {one} is {number:x}")
            }
            4 => {
                let lie = [0, 1, count - 1, count + 1, 2 * count, 0xffff][next(6)];
                self.put(start + 2, lie as u128, 2);
                format!("the page at {start} has {lie} entries, not {count}")
            }
            5 => {
                let at = start + next((page.end - start).min(64));
                self.bytes[at] ^= 1 << next(8);
                format!("a bit of byte {at}, near the beginning of a page")
            }
            6 => {
                let at = start + 4 + 4 * next(2 * count);
                let lie = [0, 4, page.end - start, page.room - start, 0xffff_ffff][next(5)];
                self.put(at, lie as u128, 4);
                format!("the end of a row at {at} is {lie}")
            }
            7 => {
                let other = &pages[next(pages.len())];
                let len = (page.room - start).min(other.room - other.start);
                self.bytes.copy_within(other.start..other.start + len, start);
                format!("the page at {start} is that at {}", other.start)
            }
            _ => {
                let at = start + next(page.end - start);
                self.bytes[at] = next(256) as u8;
                format!("byte {at}")
            }
        }
    }

    /// Gives all pages, and the commit slot, the right checksums.
    pub(crate) fn seal(&mut self) {
        self.left = MAX_SEALED;
        let tables = self.tables();
        self.seal_tree(tables.root, tables.root + 8, tables, 0);
        let slot = self.slot();
        let checksum = XxHash3_128::oneshot(&self.bytes[slot..slot + 112]);
        self.put(slot + 112, checksum, 16);
    }

    fn seal_tree(&mut self, number: usize, checksum: usize, tree: Tree, level: u32) {
        let page = self.page(self.number(number, 8), tree);
        let Some(page) = page.filter(|_| level < 20 && self.left > 0) else { return };
        self.left -= 1;
        for (number, checksum, tree) in self.children(&page, tree) {
            self.seal_tree(number, checksum, tree, level + 1);
        }
        let right = XxHash3_128::oneshot(&self.bytes[page.start..page.end]);
        self.put(checksum, right, 16);
    }
}
