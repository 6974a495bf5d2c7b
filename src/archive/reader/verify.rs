//! Verifying archives.

use super::archive::Archive;
use crate::archive::error::ArchiveError;
use crate::archive::file::sections::SectionKind;
use crate::codec::kept_game;

impl Archive {
    /// Reads everything and checks every part: the checksums, that each record can be decoded, and that
    /// the position index leads to each record and to nothing else.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify(&self) -> Result<(), ArchiveError> {
        self.verify_gaps()?;
        for listed in self.sections.each() {
            let name = listed.kind.map_or("part that is not known", SectionKind::name);
            listed.section.checked(&self.bytes, name)?;
        }
        self.read_tally_ledger()?;
        if let Some(games) = self.kept_games()? {
            games.each(&mut |_, game| match kept_game::decode(game) {
                Some(_) => Ok(()),
                None => Err(ArchiveError::corrupt(SectionKind::KeptGames.name())),
            })?;
        }
        self.level.verify_layout()?;
        if self.is_verbatim() {
            self.restore(|_| Ok::<(), ArchiveError>(()))?;
        }
        self.level.verify_records()
    }

    /// Checks that there are only zeros between the parts.
    fn verify_gaps(&self) -> Result<(), ArchiveError> {
        let mut end = 0;
        for part in self.parts() {
            let gap = self.bytes.get(end as usize..part.offset as usize);
            if gap.is_none_or(|gap| gap.iter().any(|&byte| byte != 0)) {
                return Err(ArchiveError::corrupt("padding"));
            }
            end = part.offset.saturating_add(part.len);
        }
        Ok(())
    }
}
